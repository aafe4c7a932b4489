from evenruler.instruments.saged.rows.english import parsed


def test_a_name_that_the_parser_does_not_know_leaves_the_verb_a_verb():
    (doc,) = parsed(["Aurelia exports wool."], ["Aurelia"])
    assert [(token.text, token.tag_, token.dep_) for token in doc][:2] == [
        ("Aurelia", "NNP", "nsubj"),
        ("exports", "VBZ", "ROOT"),
    ]
