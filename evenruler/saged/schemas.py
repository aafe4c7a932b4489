"""Tables of the saged family."""

import pyarrow as pa

from evenruler.tables.schemas import COMMON, required

PAGES = pa.schema(
    [
        required("concept", pa.string()),
        required("source_tag", pa.string()),
        required("title", pa.string()),
        required("section", pa.string()),
        pa.field("page_id", pa.int64()),
        pa.field("revision_id", pa.int64()),
        required("url", pa.string()),
        required("language", pa.string()),
        required("source", pa.string()),
        required("licence", pa.string()),
        required("text", pa.string()),
    ]
)
"""One row a section of a page or file, as it was read. `source`: whom to attribute it to; `section`: empty for the
lead; `page_id` and `revision_id`: null for what is no wiki."""

SENTENCES = pa.schema(
    [
        required("id", pa.string()),
        required("content_sha256", pa.string()),
        required("concept", pa.string()),
        required("keyword", pa.string()),
        required("sentence", pa.string()),
        *[field for field in PAGES if field.name not in ("concept", "text")],
    ]
)
"""One row a sentence that holds a keyword of a concept: a baseline, with where it is from."""

SPAN = pa.struct(
    [
        required("begin", pa.int32()),
        required("end", pa.int32()),
        required("word", pa.string()),
        required("replacement", pa.string()),
    ]
)
"""A replacement: its place in the branched text (characters, `end` exclusive), what stood in the root, what stands
there."""

PROMPTS = pa.schema(
    [
        *COMMON,
        required("concept", pa.string()),
        required("keyword", pa.string()),
        required("source_tag", pa.string()),
        required("prompt_type", pa.string()),
        required("prompt", pa.string()),
        required("baseline", pa.string()),
        required("root_id", pa.string()),
        required("root_concept", pa.string()),
        required("is_root", pa.bool_()),
        required("prompt_spans", pa.list_(SPAN)),
        required("baseline_spans", pa.list_(SPAN)),
        required("title", pa.string()),
        required("section", pa.string()),
        required("url", pa.string()),
        pa.field("revision_id", pa.int64()),
    ]
)
"""One row a prompt with its baseline. `prompt_type`: `split` or `question`; `root_id`: the item that it was branched
from, its own id where it is a root."""

REJECTED = pa.schema([*SENTENCES, required("reason", pa.string())])
"""Sentences that became no prompt, and why."""
