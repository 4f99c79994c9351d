#pragma once
// Sets of numbers as JSON texts. Bounds and multiples only cover numbers without an exponent: with
// such keywords, numbers with an exponent are not generated.

#include "automaton.h"
#include "schema/json_tree.h"

namespace weft::grammar {

Dfa any_number();    // with exponents
Dfa any_integer();   // -?(0|[1-9][0-9]*)
Dfa any_fraction();  // plain numbers that are not integers

enum Relation : unsigned { kLess = 1, kEqual = 2, kGreater = 4 };
// Numbers that are in one of the relations to `bound`. Throws UnsupportedError for bounds of more
// than 400 digits.
Dfa related(const Decimal& bound, unsigned relations);
// REQUIRES: the factor is above 0. Throws UnsupportedError for factors of too many digits.
Dfa multiples(const Decimal& factor);

}  // namespace weft::grammar
