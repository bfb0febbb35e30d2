from __future__ import annotations

import http.client
import json
import threading

import pytest
import yaml

from examples.analyst_model.answers import converted
from examples.analyst_model.prompt import DEPLOYMENT
from examples.analyst_tools.book import Book, NotFound
from examples.analyst_tools.server import ToolServer


@pytest.fixture(scope="module")
def server():
    with ToolServer(("127.0.0.1", 0)) as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        yield running
        running.shutdown()
        thread.join()


def post(server: ToolServer, path: str, body: str) -> tuple[int, dict]:
    connection = http.client.HTTPConnection("127.0.0.1", server.server_address[1], timeout=5)
    try:
        connection.request("POST", path, body)
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    finally:
        connection.close()


def test_every_tool_of_the_deployment_is_in_the_book_and_the_other_way_round():
    declared = yaml.safe_load(DEPLOYMENT.read_text(encoding="utf-8"))["tools"]
    assert set(declared) == set(Book().tools)


def test_an_exposure_is_that_of_the_last_book_day_at_or_before_the_day_asked():
    book = Book()
    assert book.get_exposure(counterparty="Orionhausen SpA", as_of="2026-10-01") == {
        "exposure_eur": 248_350_000
    }
    with pytest.raises(NotFound):
        book.get_exposure(counterparty="Orionhausen SpA", as_of="2026-06-29")


def test_a_cross_rate_goes_through_the_euro():
    assert Book().get_rate(currency_pair="GBP/USD", date="2026-10-01") == {
        "rate": round(1.0947 / 0.8562, 4)
    }


def test_converting_gives_cents_only_when_there_are_any():
    assert Book().convert(amount=248_350_000, from_currency="EUR", to_currency="USD") == {
        "amount": 269_112_060
    }
    assert converted(10.5, 1.0836) == 11.38


def test_positions_are_counted_and_summed():
    assert Book().list_positions(desk="rates", asset_class="swaps") == {
        "count": 3,
        "total_eur": 249_200_000,
    }


def test_news_are_counted_back_from_the_day_of_the_book():
    book = Book()
    assert [
        book.get_news(company="Castelgate SE", days=days)["articles"] for days in (2, 30, 90)
    ] == [1, 2, 3]


def test_the_book_cannot_be_written():
    with pytest.raises(Exception, match="readonly"):
        Book()._database.execute("DELETE FROM rate")


def test_a_tool_answers_over_http(server):
    body = '{"counterparty": "Castelgate SE", "agency": "Fitch"}'
    assert post(server, "/tools/get_rating", body) == (200, {"rating": "A+"})


def test_an_unknown_row_is_an_answer_the_model_can_report(server):
    body = '{"counterparty": "Nobody", "agency": "Fitch"}'
    assert post(server, "/tools/get_rating", body) == (200, {"error": "not found"})


@pytest.mark.parametrize("body", ["", "[]", "{", '{"agency": "Fitch"}', '{"x": 1}'])
def test_wrong_arguments_are_refused(server, body):
    status, answer = post(server, "/tools/get_rating", body)
    assert status == 400
    assert answer["error"].startswith("wrong arguments")


def test_an_unknown_tool_is_refused(server):
    assert post(server, "/tools/drop_table", "{}")[0] == 404
