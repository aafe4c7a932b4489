"""A deadline on a whole request, from the first byte sent to the last byte read.

The client's own timeout is between two bytes: a server that drips headers, or says `102 Processing`
again and again, would hold a request for ever. Here connecting, every write and every read also
end by the deadline of the thread that asks, and soon after the run is abandoned.
"""

import math
import ssl
import threading
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

import httpcore2

if TYPE_CHECKING:
    from httpx2 import Client, HTTPTransport

SLICE: Final = 0.5
"""Seconds after which a read looks whether it is still wanted."""


PART: Final = 4096
"""Bytes that are sent before a write looks whether it is still wanted."""


class Deadline(threading.local):
    """When the request of a thread has to be answered, by `time.monotonic`."""

    until = math.inf

    def require_time(self) -> None:
        """ReadTimeout if the deadline has passed."""
        if time.monotonic() > self.until:
            raise httpcore2.ReadTimeout("no whole answer by the deadline")

    def time_left(self, timeout: float | None) -> float | None:
        """A step's own timeout, or the time to the deadline where that is shorter; None for
        neither.
        """
        longest = math.inf if timeout is None else timeout
        left = min(longest, max(self.until - time.monotonic(), 0.001))
        return None if math.isinf(left) else left


class BoundedStream(httpcore2.NetworkStream):
    """A connection whose writes and reads end by a deadline."""

    def __init__(
        self,
        stream: httpcore2.NetworkStream,
        deadline: Deadline,
        abandoned: threading.Event,
    ) -> None:
        """Wrap an open connection; `deadline`: of the thread that asks; `abandoned`: set when the
        run ends.
        """
        self._stream, self._deadline, self._abandoned = stream, deadline, abandoned

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Bytes of the answer; ReadTimeout after `timeout` seconds without any, or by the
        deadline; ReadError once the run is abandoned.
        """
        waited, longest = 0.0, math.inf if timeout is None else timeout
        while True:
            try:
                part = self._stream.read(max_bytes, min(SLICE, longest - waited))
            except httpcore2.ReadTimeout:
                waited += SLICE
                if waited >= longest:
                    raise
                part = None
            self._require_wanted()
            if part is not None:
                return part

    def _require_wanted(self) -> None:
        """ReadTimeout after the deadline; ReadError once the run is abandoned."""
        if self._abandoned.is_set():
            raise httpcore2.ReadError("the run was ended")
        self._deadline.require_time()

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Send a part of the request, by the deadline also where it is taken in drips; errors as
        `read`, WriteTimeout after `timeout` seconds in which nothing is taken.
        """
        for begin in range(0, len(buffer), PART):
            self._require_wanted()
            left = self._deadline.time_left(timeout)
            self._stream.write(buffer[begin : begin + PART], left)

    def close(self) -> None:
        """Close the connection."""
        self._stream.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore2.NetworkStream:
        """The same connection, encrypted."""
        left = self._deadline.time_left(timeout)
        encrypted = self._stream.start_tls(ssl_context, server_hostname, left)
        return BoundedStream(encrypted, self._deadline, self._abandoned)

    def get_extra_info(self, info: str) -> Any:
        """What the library asks of a connection, such as its socket."""
        return self._stream.get_extra_info(info)


class BoundedBackend(httpcore2.NetworkBackend):
    """Opens connections whose writes and reads end by a deadline."""

    def __init__(
        self,
        backend: httpcore2.NetworkBackend,
        deadline: Deadline,
        abandoned: threading.Event,
    ) -> None:
        """Wrap a backend that opens connections; other arguments as for `BoundedStream`."""
        self._backend, self._deadline, self._abandoned = backend, deadline, abandoned

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.NetworkStream:
        """Open a connection."""
        left = self._deadline.time_left(timeout)
        stream = self._backend.connect_tcp(host, port, left, local_address, socket_options)
        return BoundedStream(stream, self._deadline, self._abandoned)


def bound_connections(client: "Client", deadline: Deadline, abandoned: threading.Event) -> None:
    """Have all connections of a client end by a deadline, or soon after an event is set.

    The library has no public place for this: its transports make their own pools, which alone know
    proxies and certificates of the environment.
    """
    mounted = [transport for transport in client._mounts.values() if transport is not None]
    transports: list[HTTPTransport] = [client._transport, *mounted]  # type: ignore[list-item]
    for transport in transports:
        pool = transport._pool
        pool._network_backend = BoundedBackend(pool._network_backend, deadline, abandoned)
