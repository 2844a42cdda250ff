"""The model behind an address like OpenAI's, for memories that take no other one of one's own."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def serve(model: str) -> str:
    """Start answering `POST /v1/embeddings` in this process; the base address."""
    from sentence_transformers import SentenceTransformer

    embedder = SentenceTransformer(model)
    embedder.encode(["the first call is slower"])

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["input"]
            vectors = embedder.encode([asked] if isinstance(asked, str) else asked)
            data = [{"index": index, "embedding": vector.tolist()} for index, vector in enumerate(vectors)]
            answer = json.dumps({"object": "list", "data": data}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}/v1"
