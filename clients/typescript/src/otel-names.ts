/** OpenTelemetry's names for operations of a memory, as in clients/python/src/memorybase_client/otel_names.py, which says
 * where they are from; a test compares the two. */

export const SCHEMA_URL = "https://opentelemetry.io/schemas/gen-ai-dev/1.42.0-dev";

export const OPERATION_NAME = "gen_ai.operation.name";
export const PROVIDER_NAME = "gen_ai.provider.name";
export const STORE_ID = "gen_ai.memory.store.id";
export const RECORD_ID = "gen_ai.memory.record.id";
export const RECORD_COUNT = "gen_ai.memory.record.count";
export const QUERY_TEXT = "gen_ai.memory.query.text";
export const RECORDS = "gen_ai.memory.records";
export const ERROR_TYPE = "error.type";
export const SERVER_ADDRESS = "server.address";
export const SERVER_PORT = "server.port";

export const PROVIDER = "memorybase";

export const OF_CALLS = new Map([
  ["POST /search", "search_memory"],
  ["POST /memories/{memory_base_id}/search", "search_memory"],
  ["POST /context", "search_memory"],
  ["POST /flows/{flow_id}/runs", "create_memory"],
  ["PATCH /messages/{message_id}", "update_memory"],
  ["DELETE /messages/{message_id}", "delete_memory"],
  ["DELETE /sessions", "delete_memory"],
  ["DELETE /end-users/{end_user_id}", "delete_memory"],
  ["POST /memories", "create_memory_store"],
  ["PUT /flows/{flow_id}/memories/{name}", "create_memory_store"],
  ["DELETE /memories/{memory_base_id}", "delete_memory_store"],
]);

export const MAX_RECORDS = 100;
export const MAX_CHARACTERS = 1000;

export const TEXTS_VARIABLE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT";
export const WITH_TEXTS = ["SPAN_ONLY", "SPAN_AND_EVENT", "TRUE"];
