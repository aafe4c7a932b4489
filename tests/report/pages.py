"""What a page holds, for tests of those who write sections."""

import base64
import gzip
import json
import re
from typing import Any


def unpacked(text: str) -> Any:
    """The content of what `packed` gave, as the page's script has it."""
    return json.loads(gzip.decompress(base64.b64decode(text)))


def pictures_in(page: str) -> list[Any]:
    """What the page's script would draw, of all that opens."""
    parts = re.findall(r'<script type="text/plain" class="packed">(.*?)</script>', page)
    pictures: list[Any] = []
    for part in parts:
        pictures += unpacked(part)["pictures"]
    return pictures
