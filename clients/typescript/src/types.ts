/** What calls take and answer, from the types that openapi-typescript makes of the OpenAPI document. */
import type { components, operations } from "./schema.js";

/** What the server answers and takes, by name: `Schemas["JobView"]`. */
export type Schemas = components["schemas"];

/** The name of a call in the OpenAPI document. */
export type OperationId = keyof operations;

/** Shown by editors as one object instead of an intersection. */
type Flat<T> = { [Name in keyof T]: T[Name] };

type Query<Operation> = Operation extends { parameters: { query?: infer Sent } }
  ? [NonNullable<Sent>] extends [never]
    ? unknown
    : NonNullable<Sent>
  : unknown;

type Body<Operation> = Operation extends { requestBody?: { content: { "application/json": infer Sent } } }
  ? NonNullable<Sent>
  : unknown;

/** The named arguments of a call: those of its query and the fields of its body. */
export type Fields<Name extends OperationId> = Flat<Query<operations[Name]> & Body<operations[Name]>>;

type JsonOf<Response> = Response extends { content: { "application/json": infer Received } } ? Received : never;

type Success<Responses> = Responses[keyof Responses & (200 | 201 | 202)];

/** What a call answers. */
export type Answer<Name extends OperationId> = JsonOf<Success<operations[Name]["responses"]>>;

/** An item of a list. */
export type Item<Name extends OperationId> = Answer<Name> extends { items: (infer Found)[] } ? Found : never;

/** A line of an import: an object, or JSON text. */
export type Line = Schemas["ExportLine"] | string;

export interface CallOptions {
  /** Ends the call, which then throws the signal's reason. */
  signal?: AbortSignal | undefined;
  /** For each try; by default the client's. */
  timeoutSeconds?: number | undefined;
}

/** Options of a call whose repetition gets the first answer. */
export interface KeyedOptions extends CallOptions {
  /** The same for each repetition of a request by the caller, such as a random UUID; by default new for each call. */
  idempotencyKey?: string | undefined;
}

/** Where the client writes about retries and lost captures: error codes and numbers, never texts or keys. */
export type Log = (level: "warning" | "error", message: string) => void;
