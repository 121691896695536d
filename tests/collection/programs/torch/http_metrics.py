import json
import sys
import threading
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "metrics are posted over HTTP and waited for in every step",
    "cause": "network in the loop",
    "accept": ["python-bound"],
    "rules": [],
    "words": ["post_metrics", "urlopen", "recv", "urllib"],
    "part": "develop",
}


class Collector(BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        time.sleep(0.008)
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *given):
        pass


def post_metrics(port, metrics):
    request = urllib.request.Request(f"http://127.0.0.1:{port}/", json.dumps(metrics).encode())
    urllib.request.urlopen(request).read()  # planted


def main(clock):
    clock.plan(3, 6)
    server = HTTPServer(("127.0.0.1", 0), Collector)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    model = nn.Sequential(nn.Linear(128, 256), nn.ReLU(), nn.Linear(256, 128))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    x = torch.randn(64, 128)
    for step in clock.loop():
        with clock.mark(step):
            optimizer.zero_grad()
            loss = (model(x) - x).square().mean()
            loss.backward()
            optimizer.step()
            if not clock.fixed:
                post_metrics(server.server_port, {"step": step, "loss": loss.item()})
    server.shutdown()
    server.server_close()


if __name__ == "__main__":
    run(main)
