"""Raw requests to a labelling page: a browser would refuse to send most of them."""

import http.client
import json
from contextlib import closing

from semisvm.labelling.security import Keys
from waiting import PATIENCE

TOKEN = "the-token"


def send(server, method, path, body=None, **headers):
    """Send a request as it is written here; a header that is None is left out."""
    given = {name.replace("_", "-"): value for name, value in headers.items() if value is not None}
    place = ("127.0.0.1", server.port)
    with closing(http.client.HTTPConnection(*place, timeout=PATIENCE)) as connection:
        connection.putrequest(method, path, skip_host="Host" in headers, skip_accept_encoding=True)
        data = (
            None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        )
        if data is not None:
            given = {"Content-Type": "application/json", "Content-Length": str(len(data)), **given}
        for name, value in given.items():
            connection.putheader(name, value)
        connection.endheaders(data)
        answer = connection.getresponse()
        answer.content = answer.read()
        return answer


def cookie(server):
    """Return what the server gives for the token, without asking each time."""
    return Keys(server.port, TOKEN).grant().partition(";")[0]


def origin(server):
    return f"http://127.0.0.1:{server.port}"


def post(server, name, body, **headers):
    """Send what the page would send, but for the headers that are given."""
    given = {"Cookie": cookie(server), "Origin": origin(server), **headers}
    return send(server, "POST", f"/api/{name}", body, **given)


def content(answer):
    return json.loads(answer.content)


def answer_row(server, row=0, value="spam", **headers):
    return post(server, "answer", {"client": "a", "row": row, "value": value}, **headers)
