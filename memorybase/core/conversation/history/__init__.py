"""History for a model's next turn: of a conversation, or of one node in it.

read             read_history: the function behind POST /history; start here
request          HistoryRequest, and the options of the view that answers it
session_reader   reads the thread of a session, only as far back as the view needs; context and summaries use it too
node_history     the same for one node, from its executions
node_context     converts the context of an execution to records
node_executions  stores, reads and deletes executions of nodes
"""
