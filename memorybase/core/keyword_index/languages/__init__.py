"""The languages: one file a language, all written by hand.

    definition   the fields of a file, and its patterns
    detection    which language a text is in

Stemming is Snowball's. English is what a text is taken for that shows no other language, and its rules read languages
that are only stemmed.
"""

from __future__ import annotations

from collections.abc import Mapping

from memorybase.core.keyword_index.languages.arabic import ARABIC
from memorybase.core.keyword_index.languages.chinese import CHINESE
from memorybase.core.keyword_index.languages.definition import Language
from memorybase.core.keyword_index.languages.dutch import DUTCH
from memorybase.core.keyword_index.languages.english import ENGLISH
from memorybase.core.keyword_index.languages.french import FRENCH
from memorybase.core.keyword_index.languages.german import GERMAN
from memorybase.core.keyword_index.languages.hindi import HINDI
from memorybase.core.keyword_index.languages.italian import ITALIAN
from memorybase.core.keyword_index.languages.japanese import JAPANESE
from memorybase.core.keyword_index.languages.polish import POLISH
from memorybase.core.keyword_index.languages.portuguese import PORTUGUESE
from memorybase.core.keyword_index.languages.russian import RUSSIAN
from memorybase.core.keyword_index.languages.spanish import SPANISH
from memorybase.core.keyword_index.languages.turkish import TURKISH

LANGUAGES: Mapping[str, Language] = {
    language.name: language
    for language in (
        ENGLISH,
        GERMAN,
        FRENCH,
        SPANISH,
        PORTUGUESE,
        ITALIAN,
        DUTCH,
        POLISH,
        TURKISH,
        RUSSIAN,
        ARABIC,
        HINDI,
        CHINESE,
        JAPANESE,
    )
}
OF_CODE: Mapping[str, Language] = {language.code: language for language in LANGUAGES.values()}
# A word alone does not show which of these it is in, or that it is no English.
LATIN = tuple(language for language in LANGUAGES.values() if not language.has_own_script and language is not ENGLISH)

__all__ = ["ENGLISH", "LANGUAGES", "LATIN", "OF_CODE", "Language"]
