"""A stand-in for the Hugging Face Hub on loopback: data sets and models with commits, tags, LFS,
faults on demand.

It speaks the part of the Hub's HTTP API that `huggingface_hub` and `datasets` use to make a data
set, commit, tag, list and download. The clients are the real ones, pointed here by `HF_ENDPOINT`.
Standard library only.
"""

import base64
import hashlib
import json
import re
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlencode, urlsplit

from tests.loopback import LoopbackServer

USER, WRITE_TOKEN, READ_TOKEN = "you", "hf_write", "hf_read"
LFS_SUFFIX = ".parquet"
PAGE = 3
"""Models in an answer to a list; the Hub has 1,000."""
DATE = "2026-01-01T00:00:00.000Z"


@dataclass(frozen=True)
class Blob:
    """A file's content."""

    data: bytes
    lfs: bool

    @property
    def sha1(self) -> str:
        return hashlib.sha1(b"blob %d\0" % len(self.data) + self.data).hexdigest()

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.data).hexdigest()

    def describe(self, path: str) -> dict[str, Any]:
        described = {"type": "file", "path": path, "size": len(self.data), "oid": self.sha1}
        if self.lfs:
            described["lfs"] = {"oid": self.sha256, "size": len(self.data), "pointerSize": 134}
        return described


@dataclass(frozen=True)
class Commit:
    """A state of a data set."""

    files: dict[str, Blob]
    message: str
    parent: str | None

    @property
    def sha(self) -> str:
        content = [
            self.parent,
            self.message,
            {path: blob.sha256 for path, blob in sorted(self.files.items())},
        ]
        return hashlib.sha1(json.dumps(content).encode()).hexdigest()


@dataclass
class Repo:
    """A data set with its history."""

    private: bool
    head: str = ""
    commits: dict[str, Commit] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)
    card: dict[str, str] = field(default_factory=dict)
    """What the head of its card says, such as its licence."""
    gated: bool = False
    """Whether `WRITE_TOKEN` alone has accepted its terms."""
    task: str = ""
    """The list of models that it stands in."""
    downloads: int = 0

    def commit(self, files: dict[str, Blob], message: str) -> str:
        new_commit = Commit(files, message, self.head or None)
        self.commits[new_commit.sha] = new_commit
        self.head = new_commit.sha
        return new_commit.sha

    def add(self, folder: Path) -> str:
        """A commit of the files of a folder, as if somebody had pushed them."""
        paths = sorted(path for path in folder.rglob("*") if path.is_file())
        return self.commit(
            {path.relative_to(folder).as_posix(): Blob(path.read_bytes(), False) for path in paths},
            "add",
        )

    def resolve(self, revision: str) -> str:
        revision = revision.removeprefix("refs/heads/").removeprefix("refs/tags/")
        if revision == "main":
            return self.head
        sha = self.tags.get(revision, revision)
        if sha not in self.commits:
            raise RefusalError(404, f"Invalid rev id: {revision}", "RevisionNotFound")
        return sha

    def files(self, revision: str) -> dict[str, Blob]:
        return self.commits[self.resolve(revision)].files


class RefusalError(Exception):
    """An answer that is no success."""

    def __init__(
        self, status: int, message: str, code: str = "", headers: dict[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.status, self.code, self.headers = status, code, headers or {}


class DeathError(Exception):
    """The server dies instead of answering."""


class Server(LoopbackServer):
    """Says nothing of a client that is gone, as one that was killed."""

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class LoopbackHub:
    """State, server and faults."""

    def __init__(self) -> None:
        self.repos: dict[str, Repo] = {}
        self.blobs: dict[str, bytes] = {}
        self.log: list[str] = []
        self.renamed: dict[str, str] = {}
        """New names of repositories by old ones."""
        self.xet: Exception | dict[str, str] | None = None
        """If files lie in Xet: what is answered to the request for a token, headers or a
        refusal."""
        self.lock = threading.RLock()
        self._faults: list[tuple[re.Pattern[str], Exception | Callable[[], None]]] = []
        self._server: LoopbackServer | None = None
        self._stopping: threading.Thread | None = None
        self._port = 0

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def start(self) -> None:
        """Answer, on the same port as before if it was stopped."""
        handler = type("Bound", (Handler,), {"hub": self})
        self._server = Server(("127.0.0.1", self._port), handler)
        self._port = self._server.server_port
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def stop(self) -> None:
        """Answer nothing more; what was stored stays."""
        if self._stopping is not None:
            self._stopping.join()
        self._stop()

    def _stop(self) -> None:
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    def stop_soon(self) -> None:
        """Stop from within a request, which `stop` would wait for."""
        self._stopping = threading.Thread(target=self._stop)
        self._stopping.start()

    def once(self, request: str, fault: Exception | Callable[[], None]) -> None:
        """Raise or call something before the next request whose "METHOD path" matches is
        answered."""
        self._faults.append((re.compile(request), fault))

    def strike(self, request: str) -> None:
        """Let the first fault that a request calls for happen."""
        for index, (pattern, fault) in enumerate(self._faults):
            if pattern.search(request):
                del self._faults[index]
                if isinstance(fault, Exception):
                    raise fault
                return fault()
        return None


@contextmanager
def running() -> Iterator[LoopbackHub]:
    """A hub that answers for as long as the context lasts."""
    hub = LoopbackHub()
    hub.start()
    try:
        yield hub
    finally:
        hub.stop()


class Handler(BaseHTTPRequestHandler):
    """One request."""

    protocol_version = "HTTP/1.1"
    hub: LoopbackHub

    def log_message(self, *_: object) -> None:
        """Keep the test's output clean."""

    def _route(self) -> None:
        url = urlsplit(self.path)
        self.query = parse_qs(url.query)
        self.body = self._read_body()
        request = f"{self.command} {url.path}"
        self.hub.log.append(request)
        try:
            self.hub.strike(request)
            for old, new in self.hub.renamed.items():
                if f"/{old}" in self.path:
                    location = {"Location": self.path.replace(f"/{old}", f"/{new}")}
                    raise RefusalError(307, "Temporary Redirect", headers=location)
            with self.hub.lock:
                for methods, pattern, answer in ROUTES:
                    match = re.fullmatch(pattern, url.path)
                    if match and self.command in methods:
                        parts = match.groupdict().items()
                        return answer(self, **{name: unquote(part or "") for name, part in parts})
            raise RefusalError(404, f"no route {request}")
        except RefusalError as refusal:
            headers = {
                "X-Error-Code": refusal.code,
                "X-Error-Message": str(refusal),
                **refusal.headers,
            }
            self._answer({"error": str(refusal), "url": self.hub.endpoint}, refusal.status, headers)
        except DeathError:
            self.close_connection = True
            self.hub.stop_soon()

    do_GET = do_HEAD = do_POST = do_PUT = _route  # noqa: N815

    def _read_body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        body = b""
        while length := int(self.rfile.readline().strip() or b"0", 16):
            body += self.rfile.read(length)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def _answer(
        self, body: object = None, status: int = 200, headers: dict[str, str] | None = None
    ) -> None:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        sent = {
            "Content-Length": str(len(data)),
            "Content-Type": "application/json",
            **(headers or {}),
        }
        for name, value in sent.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    @property
    def _token(self) -> str:
        return self.headers.get("Authorization", "").removeprefix("Bearer ")

    def _may_write(self, owner: str) -> None:
        if self._token not in (WRITE_TOKEN, READ_TOKEN):
            raise RefusalError(401, "Invalid username or password.")
        if self._token == READ_TOKEN or owner != USER:
            raise RefusalError(
                403, "Forbidden: you must use a write token to upload to a repository."
            )

    def _repo(self, name: str, *, write: bool = False) -> Repo:
        if write:
            self._may_write(name.split("/")[0])
        if self._token not in ("", WRITE_TOKEN, READ_TOKEN):
            raise RefusalError(401, "Invalid credentials in Authorization header")
        repo = self.hub.repos.get(name)
        if repo is None or (repo.private and not self._token):
            raise RefusalError(404 if self._token else 401, "Repository not found", "RepoNotFound")
        return repo

    def whoami(self) -> None:
        if self._token not in (WRITE_TOKEN, READ_TOKEN):
            raise RefusalError(401, "Invalid username or password.")
        self._answer({"type": "user", "name": USER, "fullname": USER, "orgs": []})

    def create(self) -> None:
        request = json.loads(self.body)
        owner = request.get("organization") or USER
        self._may_write(owner)
        name = f"{owner}/{request['name']}"
        if name in self.hub.repos:
            raise RefusalError(409, "You already created this dataset repo")
        private = request.get("visibility") == "private" or bool(request.get("private"))
        repo = self.hub.repos[name] = Repo(private)
        repo.commit(
            {".gitattributes": Blob(b"*.parquet filter=lfs diff=lfs merge=lfs -text\n", False)},
            "initial",
        )
        self._answer({"url": f"{self.hub.endpoint}/datasets/{name}", "name": name, "id": name})

    def validate_yaml(self) -> None:
        self._answer({"errors": [], "warnings": []})

    def list_models(self) -> None:
        """A page of the models of a task whose name holds a word, the most downloaded first."""
        wanted = {key: values[0] for key, values in self.query.items()}
        if (wanted["sort"], wanted["filter"]) != ("downloads", "transformers"):
            raise RefusalError(400, f"no such list: {wanted}")
        listed = []
        for name, repo in self.hub.repos.items():
            has_word = wanted.get("search", "") in name.lower()
            if has_word and repo.task == wanted["pipeline_tag"]:
                listed.append({"id": name, "downloads": repo.downloads, "cardData": repo.card})
        listed.sort(key=lambda model: -model["downloads"])
        first = int(wanted.get("cursor", 0))
        headers = {}
        if first + PAGE < len(listed):
            query = urlencode({**wanted, "cursor": first + PAGE})
            headers["Link"] = f'<{self.hub.endpoint}/api/models?{query}>; rel="next"'
        self._answer(listed[first : first + PAGE], headers=headers)

    def info(self, repo: str, revision: str) -> None:
        repository = self._repo(repo)
        sha = repository.resolve(revision or "main")
        self._answer(
            {
                "_id": repo,
                "id": repo,
                "author": repo.split("/")[0],
                "sha": sha,
                "private": repository.private,
                "disabled": False,
                "gated": "manual" if repository.gated else False,
                "cardData": repository.card,
                "downloads": 0,
                "likes": 0,
                "tags": [],
                "lastModified": DATE,
                "createdAt": DATE,
                "siblings": [{"rfilename": path} for path in sorted(repository.commits[sha].files)],
            }
        )

    def auth_check(self, repo: str) -> None:
        self._require_access(self._repo(repo))
        self._answer({})

    def _require_access(self, repository: Repo) -> None:
        if repository.gated and self._token != WRITE_TOKEN:
            status = 403 if self._token else 401
            raise RefusalError(status, "Access to it is restricted.", "GatedRepo")

    def preupload(self, repo: str, revision: str) -> None:
        files = self._repo(repo, write=True).files(revision)
        answers = []
        for file in json.loads(self.body)["files"]:
            old = files.get(file["path"])
            lfs = file["path"].endswith(LFS_SUFFIX)
            oid = (old.sha256 if old.lfs else old.sha1) if old else None
            answers.append(
                {
                    "path": file["path"],
                    "uploadMode": "lfs" if lfs else "regular",
                    "shouldIgnore": False,
                    "oid": oid,
                }
            )
        self._answer({"files": answers})

    def lfs_batch(self, repo: str) -> None:
        self._repo(repo, write=True)
        objects = []
        for lfs_object in json.loads(self.body)["objects"]:
            upload = {
                "actions": {"upload": {"href": f"{self.hub.endpoint}/_lfs/{lfs_object['oid']}"}}
            }
            objects.append(lfs_object | ({} if lfs_object["oid"] in self.hub.blobs else upload))
        self._answer(
            {"transfer": "basic", "objects": objects},
            headers={"Content-Type": "application/vnd.git-lfs+json"},
        )

    def lfs_put(self, oid: str) -> None:
        if hashlib.sha256(self.body).hexdigest() != oid:
            raise RefusalError(400, "sha256 mismatch")
        self.hub.blobs[oid] = self.body
        self._answer()

    def commit(self, repo: str, revision: str) -> None:
        repository = self._repo(repo, write=True)
        files, message = dict(repository.files(revision)), ""
        for line in self.body.splitlines():
            operation = json.loads(line)
            content = operation["value"]
            if operation["key"] == "header":
                message = content.get("summary", "")
                if content.get("parentCommit") not in (None, repository.head):
                    raise RefusalError(
                        412, "A commit has happened since. Please refresh and try again."
                    )
            elif operation["key"] == "file":
                files[content["path"]] = Blob(base64.b64decode(content["content"]), False)
            elif operation["key"] == "lfsFile":
                files[content["path"]] = Blob(self.hub.blobs[content["oid"]], True)
            elif operation["key"] == "deletedFile":
                del files[content["path"]]
            else:
                raise RefusalError(400, f"no operation {operation['key']}")
        sha = repository.commit(files, message)
        url = f"{self.hub.endpoint}/datasets/{repo}/commit/{sha}"
        self._answer({"success": True, "commitOid": sha, "commitUrl": url, "hookOutput": ""})

    def tree(self, repo: str, revision: str, path: str) -> None:
        files = self._repo(repo).files(revision)
        prefix = f"{path.strip('/')}/" if path.strip("/") else ""
        recursive = self.query.get("recursive", [""])[0].lower() in ("true", "1")
        folders: set[str] = set()
        listed = []
        for name, blob in sorted(files.items()):
            if not name.startswith(prefix):
                continue
            parts = name[len(prefix) :].split("/")
            depth = len(parts) if recursive else min(len(parts), 2)
            folders |= {prefix + "/".join(parts[:n]) for n in range(1, depth)}
            if recursive or len(parts) == 1:
                listed.append(blob.describe(name))
        if prefix and not listed and not folders:
            raise RefusalError(404, f"{path} does not exist on {revision}", "EntryNotFound")
        self._answer([*map(_folder, sorted(folders)), *listed])

    def paths_info(self, repo: str, revision: str) -> None:
        files = self._repo(repo).files(revision)
        is_json = "json" in self.headers.get("Content-Type", "")
        request = json.loads(self.body) if is_json else parse_qs(self.body.decode())
        listed = []
        for path in (path.strip("/") for path in request["paths"]):
            if path in files:
                listed.append(files[path].describe(path))
            elif any(name.startswith(f"{path}/") for name in files):
                listed.append(_folder(path))
        self._answer(listed)

    def refs(self, repo: str) -> None:
        repository = self._repo(repo)
        tags = [
            {"name": n, "ref": f"refs/tags/{n}", "targetCommit": sha}
            for n, sha in repository.tags.items()
        ]
        main = {"name": "main", "ref": "refs/heads/main", "targetCommit": repository.head}
        self._answer({"branches": [main], "tags": tags, "converts": []})

    def tag(self, repo: str, revision: str) -> None:
        repository = self._repo(repo, write=True)
        name = json.loads(self.body)["tag"]
        if name in repository.tags:
            raise RefusalError(409, "Tag already exists")
        repository.tags[name] = repository.resolve(revision)
        self._answer({})

    def xet_token(self, repo: str, revision: str) -> None:
        self._repo(repo).resolve(revision)
        if isinstance(self.hub.xet, Exception):
            raise self.hub.xet
        self._answer({}, headers=self.hub.xet)

    def resolve(self, repo: str, revision: str, path: str) -> None:
        repository = self._repo(repo)
        self._require_access(repository)
        sha = repository.resolve(revision)
        blob = repository.commits[sha].files.get(path)
        if blob is None:
            raise RefusalError(404, "Entry not found", "EntryNotFound", {"X-Repo-Commit": sha})
        etag = blob.sha256 if blob.lfs else blob.sha1
        headers = {"ETag": f'"{etag}"', "X-Repo-Commit": sha, "Accept-Ranges": "bytes"}
        if blob.lfs:
            headers |= {"X-Linked-Etag": f'"{etag}"', "X-Linked-Size": str(len(blob.data))}
            if self.hub.xet is not None:
                route = f"{self.hub.endpoint}/api/datasets/{repo}/xet-read-token/{sha}"
                headers |= {"X-Xet-Hash": blob.sha256, "X-Xet-Refresh-Route": route}
        data, status = blob.data, 200
        byte_range = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        if byte_range:
            first, last = int(byte_range[1]), len(data) - 1
            if byte_range[2]:
                last = min(int(byte_range[2]), last)
            headers["Content-Range"] = f"bytes {first}-{last}/{len(data)}"
            data, status = data[first : last + 1], 206
        self._answer(data, status, headers | {"Content-Type": "application/octet-stream"})


def _folder(path: str) -> dict[str, Any]:
    return {
        "type": "directory",
        "path": path,
        "oid": hashlib.sha1(path.encode()).hexdigest(),
        "size": 0,
    }


_REPO = r"(?P<repo>[\w.-]+/[\w.-]+)"
_API = rf"/api/(?:datasets|models)/{_REPO}"
_REVISION = r"(?P<revision>[^/]+)"
ROUTES: list[tuple[tuple[str, ...], str, Callable[..., None]]] = [
    (("GET",), "/api/whoami-v2", Handler.whoami),
    (("POST",), "/api/repos/create", Handler.create),
    (("POST",), "/api/validate-yaml", Handler.validate_yaml),
    (("GET",), "/api/models", Handler.list_models),
    (("GET", "HEAD"), rf"{_API}(?:/revision/{_REVISION})?", Handler.info),
    (("GET",), rf"{_API}/auth-check", Handler.auth_check),
    (("POST",), rf"{_API}/preupload/{_REVISION}", Handler.preupload),
    (("POST",), rf"/datasets/{_REPO}\.git/info/lfs/objects/batch", Handler.lfs_batch),
    (("PUT",), "/_lfs/(?P<oid>[0-9a-f]{64})", Handler.lfs_put),
    (("POST",), rf"{_API}/commit/{_REVISION}", Handler.commit),
    (("GET",), rf"{_API}/tree/{_REVISION}(?P<path>/.*)?", Handler.tree),
    (("POST",), rf"{_API}/paths-info/{_REVISION}", Handler.paths_info),
    (("GET",), rf"{_API}/refs", Handler.refs),
    (("GET",), rf"{_API}/xet-read-token/{_REVISION}", Handler.xet_token),
    (("POST",), rf"{_API}/tag/{_REVISION}", Handler.tag),
    (("GET", "HEAD"), rf"(?:/datasets)?/{_REPO}/resolve/{_REVISION}/(?P<path>.+)", Handler.resolve),
]
