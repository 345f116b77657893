"""A web service that keeps every experiment as its log file and nothing else: any number of workers, any restart.

    python example_service.py FOLDER [PORT]

GET  /name   of the experiment FOLDER/name.csv {"told": pulls so far, "wanted": pulls of each arm or null, "answer"}
POST /name   {"told": as the last answer said, "arms": [0, 0, 2], "rewards": [1.2, 0.9, 0.1]}; the answer as for GET

An experiment is begun by saving it: Lab(rage(arms, delta=0.05)).save("FOLDER/name.csv"). Every request makes the Lab
anew from the log. Two at a time are safe: the second to save finds more in the file than it knew of and is refused
(409), as is one whose `told` is old, so a POST that is sent twice counts once. Rules that draw at random keep no
generator in the log and are not served.
"""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from bandits_lab import Lab, log
from bandits_lab.table_of_rules import rule_named
from bandits_lib import Sample


class Service(BaseHTTPRequestHandler):
    folder = Path(".")

    def do_GET(self):
        self.answer(lambda lab, path: None)

    def do_POST(self):
        self.answer(lambda lab, path: told(lab, path, json.loads(self.body())))

    def body(self):
        return self.rfile.read(int(self.headers["Content-Length"]))

    def answer(self, change):
        path = self.folder / f"{Path(self.path).name}.csv"
        try:
            lab = Lab(rule_named(log.read(path).experiment.rule)(**log.arguments(path)), path)
            status, said = change(lab, path) or (200, state(lab))
        except FileNotFoundError:
            status, said = 404, {"error": f"there is no experiment {path.stem}"}
        except (KeyError, TypeError, ValueError) as error:
            status, said = 400, {"error": f"{type(error).__name__}: {error}"}
        except OSError as error:
            status, said = 503, {"error": str(error)}
        self.send_response(status)
        self.end_headers()
        self.wfile.write(json.dumps(said).encode())


def state(lab):
    wanted, done = lab.ask(), lab.result
    pulls = int(sum(sample.counts.sum() for sample in lab.log))
    answer = None if done is None else int(done.recommendation)
    return {"told": pulls, "wanted": None if wanted is None else wanted.tolist(), "answer": answer}


def told(lab, path, body):
    if body["told"] != state(lab)["told"]:
        return 409, {"error": "others have told since: GET again"} | state(lab)
    if lab.result is not None:
        return 409, {"error": "the experiment is done"} | state(lab)
    lab.tell(Sample.of(body["arms"], body["rewards"], K=len(lab.ask())))
    try:
        lab.save(path)
    except ValueError as error:
        return 409, {"error": str(error)}


if __name__ == "__main__":
    Service.folder = Path(sys.argv[1])
    ThreadingHTTPServer(("127.0.0.1", int((sys.argv + ["8000"])[2])), Service).serve_forever()
