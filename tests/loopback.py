"""The web server under every stand-in on loopback."""

from http.server import ThreadingHTTPServer


class LoopbackServer(ThreadingHTTPServer):
    """Takes many connections at once; the library's five are too few for eight requests."""

    request_queue_size = 128
    daemon_threads = True
