#pragma once
// Sets of numbers as the texts that JSON has for them. Bounds and multiples are about numbers
// without an exponent: those with one are left out if a schema has such keywords.

#include "automaton.h"
#include "json_tree.h"

namespace weft::grammar {

Dfa any_number();    // with exponents
Dfa any_integer();   // -?(0|[1-9][0-9]*)
Dfa any_fraction();  // plain numbers that are not whole

enum Relation : unsigned { kLess = 1, kEqual = 2, kGreater = 4 };
// Numbers that stand to `bound` in one of the relations. Throws UnsupportedError for bounds of more
// than 400 digits.
Dfa related(const Decimal& bound, unsigned relations);
// REQUIRES: the factor is above 0. Throws UnsupportedError for factors of too many digits.
Dfa multiples(const Decimal& factor);

}  // namespace weft::grammar
