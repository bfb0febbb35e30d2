"""Real servers on loopback, in threads of the test process."""

import socket
import threading

import uvicorn


class LoopbackServer:
    """Serves an ASGI app on a free port until `stop`; it takes connections at once."""

    def __init__(self, app, *, lifespan="off"):
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        config = uvicorn.Config(
            app, http="h11", ws="none", lifespan=lifespan, log_config=None, access_log=False
        )
        config.timeout_graceful_shutdown = 5
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, args=([self._socket],))
        self._thread.start()

    def ask_to_stop(self):
        """Begin to stop, so that several servers can do it at the same time."""
        self._server.should_exit = True

    def stop(self):
        self.ask_to_stop()
        self._thread.join()
        self._socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
