#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
#
# Checks what no compiler checks: the two licence lines, file sizes, nothing of ours in a namespace called torch or alpaka, reserved
# names, words of docs/style.md, the subjects of commits, files that the Makefile names.
# Exit status 1 on a finding.
set -euo pipefail
cd "$(dirname "$0")/.."

# Words that are never the plain one, as a regular expression of Perl. "There is no X" and "is no longer" are plain.
words='roads?|mends?|mended|whoever|whomever|he who|make-believe|told|somebody|nobody|troubles?|comes? twice|that which|anew|in place of|of our own|believes?|hears? of|not beyond|no more than|beside|of its own|as many|so many|there is none|at once|asks (for|of)|h[eo]ld(s|ing)? back|(?<!there )is no(?! longer)'

command -v perl >/dev/null || { echo "perl is missing" >&2; exit 1; }
status=0
finding() {
  echo "$1" >&2
  status=1
}

while IFS= read -r file; do
  [[ -f $file ]] || continue
  case $file in
    *.cpp | *.hpp | *.ipp | *.cu | *.py | *.cmake | *.sh | *CMakeLists.txt | Makefile | .ci/run)
      # A script's first line may be its interpreter.
      head -n 3 "$file" | grep -q 'SPDX-FileCopyrightText: 2026 The tensoa authors' &&
        head -n 3 "$file" | grep -q 'SPDX-License-Identifier: Apache-2.0' ||
        finding "$file: the two SPDX lines are missing"
      ;;
  esac
  case $file in
    examples/05_just_in_time.cpp | tests/pytorch/torchscript/test_namespace.cpp) ;; # they define an alias of that name
    *.cpp | *.hpp | *.ipp | *.cu)
      # All code would have to write ::torch:: and ::alpaka::.
      ! grep -HnE '^\s*(inline )?namespace +(\w+::)*(torch|alpaka)\b' "$file" >&2 ||
        finding "$file: a namespace called torch or alpaka; those names belong to the libraries"
      ;;
  esac
  case $file in
    # Instead of clang-tidy's bugprone-reserved-identifier and modernize-redundant-void-arg, which cost minutes.
    python/* | tests/pytorch/copy_truth.cpp | tests/forest/avx512_double/*) ;; # kernel texts and a simulation of CUDA, doubles: the names are theirs
    *.cpp | *.hpp)
      ! grep -HnE '^\s*#\s*define\s+(_[A-Z_]|__)|\b(auto|int|bool|void|float|double|class|struct)[&* ]+(__\w|_[A-Z])|\w\(void\)' "$file" >&2 ||
        finding "$file: a reserved name (_X, __x), or (void) for no parameters"
      ;;
  esac
  (($(stat -c %s "$file") <= 1000000)) || finding "$file: larger than 1 MB"
done < <(git ls-files --cached --others --exclude-standard)

# The words in all files but the list itself and what programs print, in one process: also where a phrase goes on in the next line of a
# comment or of a text in quotation marks, and as parts of the names of tests (TEST_F(Suite, LikeThis), def test_like_this).
git ls-files --cached --others --exclude-standard |
  { grep -vE '^(docs/style\.md|benchmarks/(.*\.json|results/nightly\.txt)|scripts/check_conventions\.sh)$' || true; } |
  words=$words perl -ne '
    BEGIN { ($words = $ENV{words}) =~ s/ /\\s/g; $words = qr/\b(?:$words)\b/i }
    chomp(my $file = $_);
    next if not -f $file;
    open(my $in, "<", $file) or die "$file: $!\n";
    my $text = do { local $/; <$in> } // "";
    next if $text =~ /\0/;
    my @lines = split /\n/, $text;
    $text =~ s{^(?:\w*TEST\w*\([^)]*|\s*(?:async )?def test_\w*)}
              { $& =~ s/(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|_/ /gr }gme if $file =~ /\.([ch]pp|cu|py)$/;
    $text =~ s{[ \t]*"?[ \t]*\\?\n[ \t]*(?://[/!]?<?|#+|\*|>|f?")?[ \t]*}{\n}g;
    while ($text =~ /$words/g) {
      my ($phrase, $line) = ($& =~ tr/\n/ /r, substr($text, 0, $-[0]) =~ tr/\n//);
      print STDERR "$file:", $line + 1, ": \"$phrase\": $lines[$line]\n";
      $found = 1;
    }
    END { $? = 1 if $found }' ||
  finding "words that docs/style.md replaces; see its table"

# In pages, outside code and addresses of links, also words that code may have. Pages that a program writes are its texts.
git ls-files --cached --others --exclude-standard -- '*.md' ':!benchmarks' ':!docs/style.md' ':!docs/decisions' |
  xargs perl -0777 -ne '
    next if /^Written by /m;
    s{^ *```.*?^ *```$|^ {4}[^\n]*|`[^`\n]*`|\]\([^)\n]*\)}{$& =~ tr/\n//cdr}gmse;
    while (/\b(?:says|leases?|loans?)\b/gi) {
      print STDERR "$ARGV:", 1 + substr($_, 0, $-[0]) =~ tr/\n//, ": \"$&\"\n";
      $found = 1;
    }
    END { $? = 1 if $found }' ||
  finding "words that docs/style.md replaces in pages: prints, returns, states, stores; lifetime token"

# Commits after the one that brought the rule, where the history is here.
rule=$(git log --format=%H -1 --grep='^docs: plain words, and a check of them$' 2>/dev/null || true)
if [[ -n $rule ]]; then
  while IFS= read -r subject; do
    ((${#subject} <= 72)) || finding "commit subject of ${#subject} characters, expected at most 72: $subject"
    [[ $subject =~ ^[a-z_,./\ -]+:\ .+ ]] || finding "commit subject without the folder before a colon: $subject"
  done < <(git log --no-merges --format=%s "$rule..HEAD")
fi

# No target of `make help` needs a file that is not there and that nothing makes. Nothing runs.
awk -F ':.*## ' '/^[a-z-]+:.*## / {print $1}' Makefile | xargs make --no-print-directory -n >/dev/null ||
  finding "Makefile: a target cannot be made"

exit $status
