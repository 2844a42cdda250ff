"""A list, page by page."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Generic, TypeVar

Item = TypeVar("Item")
PageT = TypeVar("PageT")

LARGEST_PAGE = 200


class Listing(Generic[Item, PageT]):
    """Iterate for all items, which inserts and deletes meanwhile do not shift; `page()` is the first page alone."""

    def __init__(self, read: Callable[[Mapping[str, Any]], PageT], params: Mapping[str, Any], size_name: str) -> None:
        self._read = read
        self._params = dict(params)
        self._size_name = size_name

    def page(self) -> PageT:
        """The first page, with `total` and `next_cursor`."""
        return self._read(self._params)

    def pages(self) -> Iterator[PageT]:
        """Every page, as large as the server allows unless a size was given."""
        params = {**self._params}
        if params.get(self._size_name) is None:
            params[self._size_name] = LARGEST_PAGE
        if self._size_name == "limit" and params.get("cursor") is None and params.get("offset") is None:
            params["offset"] = 0  # a chat's page is its latest messages unless it is told where to begin
        while True:
            page: Any = self._read(params)
            yield page
            if page.next_cursor:
                params = {**params, "cursor": page.next_cursor, "page": None, "offset": None}
            elif self._size_name == "size" and params.get("cursor") is None and page.page * page.size < page.total:
                params = {**params, "page": page.page + 1}  # a list without a cursor
            else:
                return

    def __iter__(self) -> Iterator[Item]:
        for page in self.pages():
            found: Any = page
            for item in found.items:
                yield item
