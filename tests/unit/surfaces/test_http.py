"""The WSGI application: who is answered, with what, and that nothing else gets out."""

from __future__ import annotations

import csv
import gzip
import io
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from werkzeug.test import Client, TestResponse

from stepscope.analysis import TOOLS
from stepscope.errors import UsageError
from stepscope.session.workspace import Workspace
from stepscope.store import find
from stepscope.surfaces.http import Application, Settings
from stepscope.surfaces.http.security import Guard
from tests.profiles import host, line, no_events, space, worked_example

TOKEN = "the-right-token"
AUTHORISED = {"Authorization": f"Bearer {TOKEN}", "Host": "127.0.0.1:1"}


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    for run, data in (("2024_02_01_00_00_00", worked_example(gpu=True)), ("empty", no_events())):
        folder = tmp_path / "logs" / run
        folder.mkdir(parents=True)
        (folder / "a.xplane.pb").write_bytes(data)
        (folder / "b.xplane.pb").write_bytes(data)
    (tmp_path / "logs" / "x.trace.json").write_bytes(b"{}")
    return tmp_path / "logs"


@pytest.fixture
def static(tmp_path: Path) -> Path:
    folder = tmp_path / "static"
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_text("<!doctype html><title>built</title>")
    (folder / "assets/index-a1b2c3d4.js").write_text("export const x = 1;\n" * 500)
    (tmp_path / "secret.txt").write_text("secret")
    (folder / "link.txt").symlink_to(tmp_path / "secret.txt")
    return folder


def make(logs: Path, static: Path, **settings: Any) -> Client:
    given = Settings(token=TOKEN, **settings)
    return Client(Application(Workspace(find(logs)), Guard(given, 8790), static))


@pytest.fixture
def client(logs: Path, static: Path) -> Client:
    return make(logs, static)


def ask(client: Client, path: str, **headers: str) -> TestResponse:
    return client.get(path, headers=AUTHORISED | headers)


def body(response: TestResponse) -> Any:
    return json.loads(response.get_data())


# ------------------------------------------------------------------ who is answered


@pytest.mark.parametrize("path", ["/api/v1/session", "/assets/index-a1b2c3d4.js", "/nope"])
def test_without_or_with_a_wrong_token_nothing_is_told(client: Client, path: str) -> None:
    missing = client.get(path, headers={"Host": "localhost"})
    wrong = client.get(path, headers={"Host": "localhost", "Authorization": "Bearer nope"})
    assert (missing.status_code, wrong.status_code) == (401, 403)
    for response in (missing, wrong):
        assert body(response)["error"] == "token"
        assert body(response)["hint"]


def test_token_in_the_address_becomes_a_cookie(client: Client) -> None:
    response = client.get(f"/?token={TOKEN}", headers={"Host": "127.0.0.1:8790"})
    assert response.status_code == 303 and response.headers["Location"] == "./"
    cookie = response.headers["Set-Cookie"]
    assert "HttpOnly" in cookie and "SameSite=Strict" in cookie and "stepscope_8790=" in cookie
    page = client.get("/", headers={"Host": "127.0.0.1:8790"})
    assert page.status_code == 200 and b"built" in page.data


def test_page_opened_from_another_site_still_gets_its_cookie(client: Client) -> None:
    response = client.get(
        f"/?token={TOKEN}", headers={"Host": "localhost", "Sec-Fetch-Site": "cross-site"}
    )
    assert response.status_code == 200 and b"built" in response.data
    assert "Set-Cookie" in response.headers


def test_page_without_token_explains(client: Client) -> None:
    missing = client.get("/", headers={"Host": "localhost"})
    wrong = client.get("/?token=nope", headers={"Host": "localhost"})
    assert (missing.status_code, wrong.status_code) == (401, 403)
    assert b"stepscope serve" in missing.data
    assert "Set-Cookie" not in wrong.headers


@pytest.mark.parametrize(
    "name", ["evil.example", "127.0.0.1.evil.example", "10.0.0.5", "", "[", "a:b:c"]
)
def test_other_host_names_are_refused(client: Client, name: str) -> None:
    response = ask(client, "/api/v1/session", Host=name)
    assert response.status_code == 421
    assert "runs" not in body(response)


@pytest.mark.parametrize(
    "name", ["localhost:9", "127.0.0.1", "[::1]:8790", "x.localhost", "LOCALHOST."]
)
def test_names_of_this_machine_are_answered(client: Client, name: str) -> None:
    assert ask(client, "/api/v1/session", Host=name).status_code == 200


def test_allowed_and_bound_names_are_answered(logs: Path, static: Path) -> None:
    client = make(logs, static, address="192.168.1.5", extra_hosts=("proxy.example",))
    assert ask(client, "/api/v1/session", Host="192.168.1.5:80").status_code == 200
    assert ask(client, "/api/v1/session", Host="Proxy.example").status_code == 200
    assert ask(client, "/api/v1/session", Host="other.example").status_code == 421
    everywhere = make(logs, static, address="0.0.0.0")
    assert ask(everywhere, "/api/v1/session", Host="10.1.2.3").status_code == 200
    assert ask(everywhere, "/api/v1/session", Host="rebound.example").status_code == 421


def test_token_cannot_be_dropped_off_loopback(logs: Path, static: Path) -> None:
    with pytest.raises(UsageError) as caught:
        Settings(address="0.0.0.0", token_required=False)
    assert caught.value.anchor == "token-required"
    open_client = make(logs, static, token_required=False)
    response = open_client.get("/api/v1/session", headers={"Host": "localhost"})
    assert response.status_code == 200


def test_mounted_the_other_server_decides_who_may_ask(logs: Path, static: Path) -> None:
    mounted = make(logs, static, mounted=True, prefix="/data/plugin/x", allow_capture=True)
    answer = mounted.get("/data/plugin/x/api/v1/session", headers={"Host": "gpu-box:6006"})
    assert answer.status_code == 200 and answer.get_json()["capture_allowed"]
    # A notebook frames it; other sites may still not read.
    assert "frame-ancestors" not in answer.headers["Content-Security-Policy"]
    stranger = {"Host": "gpu-box:6006", "Sec-Fetch-Site": "cross-site"}
    assert mounted.get("/data/plugin/x/api/v1/session", headers=stranger).status_code == 403
    order = {"Host": "gpu-box:6006", "Origin": "http://elsewhere.example"}
    assert mounted.post("/data/plugin/x/api/v1/capture", headers=order).status_code == 403
    served = make(logs, static, token_required=False).get("/", headers={"Host": "localhost"})
    assert "frame-ancestors 'self'" in served.headers["Content-Security-Policy"]


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "PATCH"])
def test_only_reading_is_answered(client: Client, method: str) -> None:
    response = client.open("/api/v1/session", method=method, headers=AUTHORISED)
    assert response.status_code == 405


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_other_sites_and_ports_may_not_read(client: Client, site: str) -> None:
    response = ask(client, "/api/v1/session", **{"Sec-Fetch-Site": site})
    assert response.status_code == 403


@pytest.mark.parametrize("path", ["/", "/api/v1/session", "/nope", "/assets/index-a1b2c3d4.js"])
def test_every_answer_binds_the_browser(client: Client, path: str) -> None:
    headers = ask(client, path).headers
    policy = headers["Content-Security-Policy"]
    assert "default-src 'self'" in policy and "unsafe" not in policy
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "no-referrer"
    assert headers["Cross-Origin-Resource-Policy"] == "same-origin"


# ------------------------------------------------------------------ static files


@pytest.mark.parametrize(
    "path",
    [
        "/../secret.txt",
        "/%2e%2e/secret.txt",
        "/assets/../../secret.txt",
        "/..%2fsecret.txt",
        "/link.txt",
        "/assets",
        "/assets/",
        "/\x00",
        "/..\\secret.txt",
        "/" + "x" * 5000,
    ],
)
def test_nothing_outside_the_folder_is_served(client: Client, path: str) -> None:
    response = ask(client, path)
    assert response.status_code == 404
    assert b"secret" not in response.data.replace(b"secret.txt", b"")


def test_source_is_shown_only_from_a_chosen_folder(
    logs: Path, static: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A request or a recording may name any file: not even the server's own folder is read."""
    program = tmp_path / "program"
    program.mkdir()
    (program / "train.py").write_text("begin = 1\nloss.backward()\n")
    monkeypatch.chdir(program)
    path = "/api/v1/about?name=unknown&file=train.py&line=2"
    assert body(ask(make(logs, static), path))["lines"] == []
    shown = body(ask(make(logs, static, source=str(program)), path))["lines"]
    assert shown == [[1, "begin = 1"], [2, "loss.backward()"]]


def test_hashed_files_are_kept_and_others_checked(client: Client) -> None:
    asset = ask(client, "/assets/index-a1b2c3d4.js")
    assert "immutable" in asset.headers["Cache-Control"]
    assert asset.headers["Content-Type"].startswith("text/javascript")
    page = ask(client, "/index.html")
    assert page.headers["Cache-Control"] == "no-cache"
    again = ask(client, "/index.html", **{"If-None-Match": page.headers["ETag"]})
    assert (again.status_code, again.data) == (304, b"")


def test_large_answers_are_compressed_when_accepted(client: Client) -> None:
    plain = ask(client, "/assets/index-a1b2c3d4.js")
    packed = ask(client, "/assets/index-a1b2c3d4.js", **{"Accept-Encoding": "gzip"})
    assert "Content-Encoding" not in plain.headers
    assert packed.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(packed.data) == plain.data
    # A file is packed once, so as small as it gets; the budget of the script counts that.
    assert packed.data == gzip.compress(plain.data, 9, mtime=0)
    assert len(packed.data) < len(plain.data)


def test_missing_web_files_say_how_to_build_them(logs: Path, tmp_path: Path) -> None:
    response = ask(make(logs, tmp_path / "nowhere"), "/")
    assert response.status_code == 503 and b"python3 dev.py web" in response.data


# ------------------------------------------------------------------ mounting


def test_below_a_prefix(logs: Path, static: Path) -> None:
    client = make(logs, static, prefix="/x/y/")
    assert ask(client, "/x/y/api/v1/session").status_code == 200
    assert ask(client, "/x/y/assets/index-a1b2c3d4.js").status_code == 200
    bare = ask(client, "/x/y?token=abc")
    assert (bare.status_code, bare.headers["Location"]) == (308, "y/?token=abc")
    entered = client.get(f"/x/y/?token={TOKEN}", headers={"Host": "localhost"})
    assert entered.headers["Location"] == "./" and "Path=/x/y" in entered.headers["Set-Cookie"]
    # A proxy that strips the prefix itself works too.
    assert ask(client, "/api/v1/session").status_code == 200


def test_mounted_in_another_application(client: Client) -> None:
    response = client.get(
        "/api/v1/session", base_url="http://localhost/mounted/", headers=AUTHORISED
    )
    assert response.status_code == 200


# ------------------------------------------------------------------ the API


def test_session_lists_runs_files_and_reasons(client: Client, logs: Path) -> None:
    got = body(ask(client, "/api/v1/session"))
    assert {run["id"] for run in got["runs"]} == {"2024_02_01_00_00_00", "empty"}
    assert got["default_run"] == "2024_02_01_00_00_00"  # the younger one holds no event
    assert got["runs"][0]["hosts"] == ["a", "b"]
    skipped = [file for file in got["files"] if file["state"] == "skipped"]
    assert [Path(file["path"]).name for file in skipped] == ["x.trace.json"]
    assert skipped[0]["reason"] and skipped[0]["hint"]
    assert got["capture_allowed"] is False


def test_tools_tell_what_is_missing(client: Client) -> None:
    full = body(ask(client, "/api/v1/tools?run=2024_02_01_00_00_00"))["tools"]
    assert [tool["id"] for tool in full] == [*(tool.id for tool in TOOLS), "pod", "compare"]
    ops = next(tool for tool in full if tool["id"] == "framework_op_stats")
    assert ops["available"] and {option["name"] for option in ops["options"]} >= {"group_by"}
    assert ops["tables"]["ops"][0].keys() >= {"name", "label", "unit", "kind", "sort", "hidden"}
    bare = body(ask(client, "/api/v1/tools?run=empty"))["tools"]
    ops = next(tool for tool in bare if tool["id"] == "framework_op_stats")
    assert not ops["available"] and ops["missing"] and ops["record"]


@pytest.mark.parametrize("tool", ["framework_op_stats", "op_stats"])
def test_rows_and_columns_hold_the_same(client: Client, tool: str) -> None:
    rows = body(ask(client, f"/api/v1/tool/{tool}?run=2024_02_01_00_00_00"))
    columns = body(ask(client, f"/api/v1/tool/{tool}?run=2024_02_01_00_00_00&layout=columns"))
    tables = ("ops", "layers")
    for name in tables:
        table = columns[name]
        assert table["rows"] == len(rows[name]) > 0
        assert [row["self_time_us"] for row in rows[name]] == table["columns"]["self_time_us"]
    assert {k: v for k, v in rows.items() if k not in tables} == {
        k: v for k, v in columns.items() if k not in tables
    }


def test_coded_columns_hold_the_same(client: Client) -> None:
    path = "/api/v1/tool/framework_op_stats?run=2024_02_01_00_00_00&layout="
    columns, coded = body(ask(client, f"{path}columns")), body(ask(client, f"{path}coded"))
    for name, cells in coded["ops"]["columns"].items():
        if isinstance(cells, dict):
            coded["ops"]["columns"][name] = [cells["values"][code] for code in cells["codes"]]
    assert coded == columns
    refused = ask(client, f"{path}lists")
    assert refused.status_code == 400


def test_options_and_host_reach_the_tool(client: Client) -> None:
    run = "run=2024_02_01_00_00_00"
    got = body(ask(client, f"/api/v1/tool/op_stats?{run}&host=b&where=host&layout=columns"))
    assert got["hosts"] == ["b"]
    assert set(got["ops"]["columns"]["host_or_device"]) == {"Host"}
    one = body(ask(client, f"/api/v1/tool/op_stats?{run}&layout=columns&top=1"))
    assert one["ops"]["rows"] == 1


def test_an_option_named_like_a_parameter_stands_behind_a_prefix(
    tmp_path: Path, static: Path
) -> None:
    calls = [("Iterator::Root", 1000.0 * i, 200.0, {"id": 1}) for i in range(3)]
    for name in ("a", "b"):
        path = tmp_path / "data" / "run" / f"{name}.xplane.pb"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(space(host(line("python", *calls))))
    client = make(tmp_path / "data", static)
    for name in ("a", "b"):
        got = body(ask(client, f"/api/v1/tool/tf_data?graph_host={name}&layout=columns"))
        assert got["hosts"] == ["a", "b"]
        assert got["graph"]["host"] == name
    assert body(ask(client, "/api/v1/tool/tf_data?host=b"))["hosts"] == ["b"]


@pytest.mark.parametrize(
    ("path", "status", "slug"),
    [
        ("/api/v1/tool/nope", 400, "usage"),
        ("/api/v1/tool/op_stats?group_by=color", 400, "usage"),
        ("/api/v1/tool/op_stats?colour=red", 400, "usage"),
        ("/api/v1/tool/op_stats?layout=sideways", 400, "usage"),
        ("/api/v1/tool/op_stats?top=-1", 400, "usage"),
        ("/api/v1/tool/op_stats?run=nope", 404, "no-such-run"),
        ("/api/v1/tool/op_stats?run=2024_02_01_00_00_00&host=nope", 404, "no-such-host"),
        ("/api/v1/tool/op_stats?run=empty", 409, "nothing-to-show"),
        ("/api/v1/tool/op_stats/ops.xlsx?run=2024_02_01_00_00_00", 400, "usage"),
        ("/api/v1/tool/op_stats/nope.csv?run=2024_02_01_00_00_00", 404, "no-such-table"),
        ("/api/v1/nope", 404, "not-found"),
    ],
)
def test_errors_are_json_with_reason(client: Client, path: str, status: int, slug: str) -> None:
    response = ask(client, path)
    assert (response.status_code, body(response)["error"]) == (status, slug)
    assert body(response).keys() == {"error", "what", "where", "why", "hint"}


def test_pages_get_foreseen_errors_as_answers(client: Client) -> None:
    path = "/api/v1/tool/op_stats?run=empty"
    plain = ask(client, path)
    soft = ask(client, path, **{"X-Stepscope-Errors": "soft"})
    assert plain.status_code == 409
    assert "X-Stepscope-Status" not in plain.headers
    assert soft.status_code == 200
    assert soft.headers["X-Stepscope-Status"] == "409"
    assert soft.json == plain.json
    wrong = ask(client, "/api/v1/tool/nonsense", **{"X-Stepscope-Errors": "soft"})
    assert wrong.status_code >= 400, "a wrong question is not a state of a page"


def test_unreadable_run_is_an_error_with_its_place(logs: Path, static: Path) -> None:
    folder = logs / "broken"
    folder.mkdir()
    (folder / "a.xplane.pb").write_bytes(b"no profile, only text that goes on for a while\n" * 9)
    response = ask(make(logs, static), "/api/v1/tools?run=broken")
    assert response.status_code == 422
    assert (
        body(response)["error"] == "malformed-xspace" and "a.xplane.pb" in body(response)["where"]
    )


def test_bug_in_a_tool_is_told_without_its_insides(
    client: Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def explode(*_: object) -> None:
        raise ValueError("secret inside")

    monkeypatch.setattr("stepscope.registry.Tools.find", explode)
    response = ask(client, "/api/v1/tool/op_stats")
    assert response.status_code == 500 and body(response)["error"] == "bug"
    assert b"secret inside" not in response.data
    assert "secret inside" in caplog.text


def test_downloads(client: Client) -> None:
    base = "/api/v1/tool/op_stats/ops"
    run = "run=2024_02_01_00_00_00&where=host"
    text = ask(client, f"{base}.csv?{run}")
    assert text.headers["Content-Disposition"].endswith('framework_op_stats-ops.csv"')
    rows = list(csv.DictReader(io.StringIO(text.get_data(as_text=True))))
    assert body(ask(client, f"{base}.json?{run}"))[0]["operation"] == rows[0]["operation"]
    frame = pl.read_parquet(io.BytesIO(ask(client, f"{base}.parquet?{run}").data))
    assert frame["operation"].to_list() == [row["operation"] for row in rows]


def test_progress(client: Client) -> None:
    before = body(ask(client, "/api/v1/progress?run=empty"))
    assert before == {"state": "idle", "stage": "", "done": 0, "total": 0, "message": ""}
    ask(client, "/api/v1/tools?run=empty")
    assert body(ask(client, "/api/v1/progress?run=empty"))["state"] == "ready"


def test_head_has_no_body(client: Client) -> None:
    response = client.head("/api/v1/session", headers=AUTHORISED)
    assert response.status_code == 200 and response.data == b""


def test_advice_comes_with_what_became_of_every_rule(client: Client) -> None:
    answer = ask(client, "/api/v1/advice")
    assert answer.status_code == 200
    body = answer.get_json()
    assert {one["rule"] for one in body["checked"]} == set(body["rules_checked"])
    assert {one["outcome"] for one in body["checked"]} <= {"fired", "silent", "unknown"}
    for finding in body["findings"]:
        assert finding["title"] and finding["message"]


def test_runs_are_compared_like_a_tool(client: Client) -> None:
    run = "2024_02_01_00_00_00"
    tools = body(ask(client, f"/api/v1/tools?run={run}"))["tools"]
    info = next(tool for tool in tools if tool["id"] == "compare")
    assert info["available"]
    assert info["options"][0]["choices"] == ["empty"]
    # The other run holds nothing: the answer says so, as for any tool with nothing to show.
    answer = ask(client, f"/api/v1/tool/compare?run={run}&baseline=empty")
    assert answer.status_code == 409
    assert body(answer)["error"] == "no-steps"
    same = body(ask(client, f"/api/v1/tool/compare?run={run}&baseline={run}&layout=columns"))
    assert same["delta_ms"] == 0
    assert same["parts"]["rows"] > 0
    text = ask(client, f"/api/v1/tool/compare/parts.csv?run={run}&baseline={run}").text
    assert text.startswith("kind,name,")
    gone = ask(client, f"/api/v1/tool/compare?run={run}&baseline=none")
    assert gone.status_code == 404
