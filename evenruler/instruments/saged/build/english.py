"""Words of English that rules for questions need to know: people, nations, verbs that want more than an object."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_PEOPLE = _words(
    """
    actor adult adviser ancestor applicant architect athlete audience author baby boy brother buyer candidate chef
    child citizen client colleague commuter composer consumer crowd customer daughter delegate designer dictator
    director doctor driver emigrant emperor employee employer empress engineer expert explorer family fan farmer
    father folk founder friend gardener general girl grandparent grower guest guide hiker historian household
    immigrant inhabitant inventor investor judge king lawyer leader learner listener lover maker man manager
    manufacturer member merchant migrant minister mother neighbor neighbour newcomer nurse officer official owner
    painter parent participant partner passenger patient pedestrian people performer person philosopher pilgrim
    player playwright poet president producer programmer publisher pupil queen reader refugee relative researcher
    resident ruler scholar seller settler shopper singer sister soldier somebody someone son speaker spectator
    student supplier supporter taxpayer teacher teenager theologian thinker trader trainer translator traveler
    traveller user viewer visitor volunteer voter woman worker
    """
)
"""Nouns, in the singular, for whom one asks "whom", besides those that end as `_OF_PEOPLE`."""

_OF_PEOPLE = ("ist", "ician", "grapher", "woman", "sman", "maker", "writer")

_GROUPS = _words("audience crowd family household")
"""Of them, those that other things may be called too ("a family of languages")."""

_NO_PEOPLE = _words("backlist checklist playlist shortlist talisman typewriter waitlist wishlist")

_QUANTITIES = _words("all many most some several thousand hundred million dozen number majority group lot")
"""What stands before "of" and says how many of them."""

VAGUE = _words("deal lot bit")
"""Objects that are no answer: "a great deal"."""

LIGHT = frozenset(
    {("part", "in"), ("access", "to"), ("care", "of"), ("advantage", "of"), ("use", "of"), ("charge", "of")}
)
"""Objects that are one with their verb and the preposition behind them: "take part in"."""

INTRANSITIVE = _words("go come arrive look live stand sit lie sleep happen occur seem travel")
"""Verbs that have no object, whatever a parser takes for one: "go swimming"."""

INCOMPLETE = _words("bring compel consider deem have help introduce let owe place prevent put regard take turn")
"""Verbs whose object without what follows it is no answer: "help workers (to save)"."""

SHOWN_AS = _words("cite define describe recognise recognize regard see treat view")
"""Verbs that say as what their object is taken."""

URGING = _words("advise allow ask enable encourage help invite oblige permit persuade teach train urge")
"""Verbs with an object and what it does: "encourage pupils to build"."""

TELLING = _words("ask show teach tell")
"""Verbs with a listener and what is told: "show children how plants grow"."""

MOVING = _words("drive emigrate flow fly go march migrate move return sail travel walk")
"""Verbs of going somewhere."""

UNCHANGED = _words("beat bet bid burst cast cut hit hurt let put quit read rid set shed shut split spread")
"""Verbs whose past looks like their present."""

TOOLS = _words("hand foot machine post mail telephone phone ship train rail road air sea law chance vote")
"""Nouns that say how when they stand behind "by" without an article."""

PARTICLES = _words("together apart back away ahead forward")
"""Adverbs that belong to the verb before them."""

MANNERS = _words("well badly hard fast best better differently")
"""Adverbs that say how, besides those with "ly"."""

_NO_MANNERS = _words("only early daily weekly monthly yearly likely mainly mostly partly nearly recently")

_NATIONAL = ("ese", "i", "an")
_NATIONS = _words("""
    arabic baltic british catholic celtic czech danish dutch english finnish flemish french german germanic greek
    hispanic icelandic irish islamic jewish kurdish nordic norse polish scottish slavic spanish swedish swiss thai
    turkic turkish welsh
    """)
_NO_NATIONS = _words("""
    agrarian artisan civilian clean equestrian human lean mean median multi pagan partisan pedestrian
    republican semi suburban urban utopian vegan veteran
    """)
_NATIONS_IN_ARIAN = ("bulgarian", "hungarian", "bavarian")


def is_national(adjective: str) -> bool:
    """Whether an adjective is, by its look, of a place or people and keeps its capital ("Aurelian", "French")."""
    word = adjective.lower()
    if word.endswith("arian") and word not in _NATIONS_IN_ARIAN:
        return False
    return word in _NATIONS or (word.endswith(_NATIONAL) and word not in _NO_NATIONS)


def asks_whom(nouns: list[str], counted: str = "") -> str:
    """The word that asks for an object.

    Args:
        nouns: The object's nouns, in the singular: more than one where they are listed.
        counted: What the first one says the number of ("people" in "thousands of people").

    Returns:
        "Whom" where all are people; "Whom or what" where the first one is and others are not; else "What".
    """
    first = counted if counted and nouns[0] in _QUANTITIES else nouns[0]
    people = [_is_person(noun) for noun in (first, *nouns[1:])]
    if not people[0]:
        return "What"
    return "Whom" if all(people) else "Whom or what"


def asks_who(noun: str) -> str:
    """The word that asks who or what somebody is, of whom a noun (in the singular) is said."""
    return "Who" if _is_person(noun) and noun not in _GROUPS else "What"


def _is_person(noun: str) -> bool:
    return noun in _PEOPLE or (noun.endswith(_OF_PEOPLE) and len(noun) > len("twist") and noun not in _NO_PEOPLE)


def says_how(adverb: str) -> bool:
    """Whether an adverb says how something is done."""
    word = adverb.lower()
    return word in MANNERS or (word.endswith("ly") and word not in _NO_MANNERS)


def third_person(verb: str) -> str:
    """A verb's form for one other: "carry" -> "carries"."""
    if verb.endswith(("s", "x", "z", "ch", "sh", "o")):
        return f"{verb}es"
    if verb.endswith("y") and verb[-2:-1] not in "aeiou":
        return f"{verb[:-1]}ies"
    return f"{verb}s"
