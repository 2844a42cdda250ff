"""Standing statements: instructions and preferences that an end user states once and that hold from then on.

    finder        the statements in a message, by the form of its sentences, without a language model
    forms         those forms
    index         kept in the transaction that captures or edits: finds, adds and removes rows
    copies        what people made of them, in exports
    replacement   which statements still hold: a later one replaces an earlier one that it repeats or contradicts
    statements    the list of an end user, corrections by people, and what a context may contain
    backfill      finds them in messages that were captured before
    oneself       sentences in which a user says something about themselves, in all languages
    profile       both as one list, with what was pinned or said often
    context_statements, context_profile   both as messages of a context
    models, queries, hooks; routes, page and commands for the API, the web page and the command line

Only messages with the role user are read, so nothing that a model or a tool says becomes an instruction. A row goes
with its message. A statement that a person deleted stays deleted, also if its message is posted, imported or read
again. The options and reports of contexts declare their fields of statements and profiles themselves.
"""

from __future__ import annotations
