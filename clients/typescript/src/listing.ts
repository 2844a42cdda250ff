/** A list, page by page. */

const LARGEST_PAGE = 200;

interface PageOf<Item> {
  items: Item[];
  total: number;
  next_cursor?: string | null;
  page?: number;
  size?: number;
}

interface Paging {
  page?: number | undefined;
  size?: number | undefined;
  limit?: number | undefined;
  offset?: number | undefined;
  cursor?: string | null | undefined;
}

/** Iterate with `for await` for all items, which inserts and deletes meanwhile do not shift; `page()` is the first page
 * alone. Nothing is sent before that. */
export class Listing<Item, Page extends PageOf<Item>> implements AsyncIterable<Item> {
  readonly #read: (query: object) => Promise<Page>;
  readonly #query: Paging;
  readonly #sizeName: "size" | "limit";

  /** @internal */
  constructor(read: (query: object) => Promise<Page>, query: object, sizeName: "size" | "limit") {
    this.#read = read;
    this.#query = query;
    this.#sizeName = sizeName;
  }

  /** The first page, with `total` and `next_cursor`. */
  page(): Promise<Page> {
    return this.#read(this.#query);
  }

  /** Every page, as large as the server allows unless a size was given. */
  async *pages(): AsyncGenerator<Page, void, undefined> {
    let query: Paging = { ...this.#query, [this.#sizeName]: this.#query[this.#sizeName] ?? LARGEST_PAGE };
    if (this.#sizeName === "limit" && query.cursor == null && query.offset === undefined) {
      query.offset = 0; // a chat's page is its latest messages unless it is given a position
    }
    for (;;) {
      const page = await this.#read(query);
      yield page;
      const { page: number, size } = page;
      if (page.next_cursor) {
        query = { ...query, cursor: page.next_cursor, page: undefined, offset: undefined };
      } else if (number !== undefined && size !== undefined && query.cursor == null && number * size < page.total) {
        query = { ...query, page: number + 1 }; // a list without a cursor
      } else {
        return;
      }
    }
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Item, void, undefined> {
    for await (const page of this.pages()) {
      yield* page.items;
    }
  }

  /** All items. */
  async toArray(): Promise<Item[]> {
    const found: Item[] = [];
    for await (const item of this) {
      found.push(item);
    }
    return found;
  }
}
