#!/usr/bin/perl
# Writes cases for the pre-tokenizer rules: random texts, split by the published patterns with Perl's
# regular expressions, which support Unicode classes and lookahead. Each line of split_patterns.tsv is a
# name of tokenizer.ggml.pre and its patterns; each pattern splits the pieces of the previous one.
#
#     perl tests/tokenizers/make_split_cases.pl [TEXTS [SEED]] > models/text/tokenize/src/split_cases.jsonl
#
# One line per case: {"pre": NAME, "pieces": [...]}; the concatenated pieces are the text.
use strict;
use warnings;
use utf8;
use feature 'unicode_strings';
use File::Basename;
binmode STDOUT, ':utf8';

my ($n_texts, $state) = (@ARGV, (24, 1)[@ARGV .. 1]);
sub draw {    # not Perl's generator: the same cases everywhere
  my ($n) = @_;
  $state = ($state * 1103515245 + 12345) & 0x7fffffff;
  return int(($state >> 8) / 0x800000 * $n);
}

my @parts = (
  'a', 'b', 'Z', 'Q', 'hello', 'World', 'XML', "\x{E9}", "\x{C9}", "e\x{301}", "\x{1C5}", "\x{2B0}", "\x{301}", "\x{93F}", "\x{915}",
  "\x{3042}", "\x{30AB}", "\x{4E2D}", "\x{6587}", "\x{3007}", "\x{2E80}", "\x{3105}", "\x{AC00}", "\x{3131}", "\x{E01}", "\x{627}", "\x{17F}",
  '1', '7', '42', '123', '1234567', "\x{663}", "\x{B2}", "\x{BD}", "\x{2167}",
  ' ', ' ', ' ', '  ', '   ', '    ', ' ' x 9, "\t", "\n", "\n", "\r", "\r\n", "\n\n", "\x{A0}", "\x{3000}", "\x{85}", "\x{B}", "\x{2028}",
  "'", "'s", "'S", "'t", "'RE", "'ll", "'d", "'m", "'ve", '.', ',', '!', '?', '(', ')', '/', '//', '$', '+', '<', '`', '|', '^', '_', '-', '#',
  "\x{2026}", "\x{3002}", "\x{FF0C}", "\x{FF01}", "\x{2019}", "\x{20AC}", "\x{2200}", "\x{1F600}", "\x{0}", "\x{1}", "\x{E000}", "\x{2764}\x{FE0F}",
  'IMGIMGABZ', '<sentinel:12>',
);

sub split_by {
  my ($pattern, $text) = @_;
  my ($done, @pieces) = (0);
  while ($text =~ /$pattern/g) {
    my ($begin, $end) = ($-[0], $+[0]);
    push @pieces, substr($text, $done, $begin - $done) if $begin > $done;
    push @pieces, substr($text, $begin, $end - $begin) if $end > $begin;
    $done = $end;
  }
  push @pieces, substr($text, $done) if $done < length $text;
  return @pieces;
}

sub json {
  my ($text) = @_;
  $text =~ s/([\\"])/\\$1/g;
  $text =~ s/([\x00-\x1F\x7F-\xA0\x{2028}\x{2029}])/sprintf('\\u%04x', ord $1)/ge;
  return "\"$text\"";
}

open my $rules, '<:utf8', dirname($0) . '/split_patterns.tsv' or die "split_patterns.tsv: $!";
while (my $line = <$rules>) {
  chomp $line;
  my ($name, @patterns) = split /\t/, $line;
  my @stages = map { qr/$_/ } @patterns;
  for (1 .. $n_texts) {
    my $text = join '', map { $parts[draw(scalar @parts)] } 0 .. draw(24);
    my @pieces = ($text);
    for my $stage (@stages) {
      @pieces = map { split_by($stage, $_) } @pieces;
    }
    print '{"pre": ', json($name), ', "pieces": [', join(', ', map { json($_) } @pieces), "]}\n";
  }
}
