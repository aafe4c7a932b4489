"""Words of English that rules for questions need to know: people, nations, verbs with no object or more than one."""


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

NO_OBJECT = _words("arrive come go happen lie live look occur seem sit sleep stand travel")
"""Verbs that have no object, whatever a parser takes for one: "go swimming"."""

INCOMPLETE = _words(
    """
    allow bring cite compel consider deem define describe enable encourage have help introduce invite let oblige owe
    permit persuade place prevent put recognise recognize regard see take turn urge view
    """
)
"""Verbs whose object without what follows it is no answer: "help workers (to save)", "regard it (as a goal)"."""

TELLING = _words("ask show teach tell train")
"""Verbs whose object is no answer where they have another one: "show children how plants grow"."""

SOMEWHERE = _words("drive emigrate flow fly go lie live march migrate move return sail sit stand travel walk")
"""Verbs of going and being somewhere, whose preposition says where."""

UNCHANGED = _words("beat bet bid burst cast cut hit hurt let put quit read rid set shed shut split spread")
"""Verbs whose past looks like their present."""

_TIMES = _words("autumn century day decade generation hour month period spring summer time week while winter year")

PARTICLES = _words("together apart back away ahead forward")
"""Adverbs that belong to the verb before them."""

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


def says_when(noun: str) -> bool:
    """Whether a noun (in the singular), or a year, says when or for how long."""
    return noun in _TIMES or (noun.isdecimal() and len(noun) == 4)
