// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <initializer_list>
#include <random>
#include <string>

namespace tensoa::test {

/// TorchScript at random, for module_of(): forward(x, y, z) of float32[4, 2] each to float32[4, 2].
///
/// Loops of all kinds, branches, views, lists, a dict, a tuple, a helper method, the module's buffers,
/// and writes in place to any of them. A fixed set of variables goes through everything; the result is
/// their sum, so that each write is read. Same seed, same program.
class RandomProgram {
 public:
  explicit RandomProgram(unsigned seed) : random_(seed) {}

  std::string source() {
    const std::string helper = "def helper(self, a, b):\n" +
                               line(1, choice({"c = " + view("a"), "c = a + b"})) +
                               line(1, choice({"c = c * 0.5", "c.mul_(0.5)", "b = c", "pass"})) +
                               line(1, choice({"return (b, c)", "return (c, a)", "return (a, b)"}));
    std::string text = helper + "\ndef forward(self, x, y, z):\n";
    for (const char* name : {"a", "b", "c", "d"}) text += line(1, name + (" = " + start()));
    text += line(
        1, "many = [" + choice({"a", "b", "x.clone()"}) + ", " + choice({"c", "y", "d"}) + "]");
    text += line(
        1, "named = {\"p\": " + choice({"a", "z", "d"}) + ", \"q\": " + choice({"b", "c"}) + "}");
    text += line(1, "pair = (" + choice({"a", "b"}) + ", " + choice({"c", "d", "y"}) + ")");
    text += line(1, "count = 0");
    text += block(1, 4 + next(6));
    return text +
           line(
               1,
               "total = a + b * 0.5 + c * 0.25 + d * 0.125 + pair[0] + pair[1] * 0.5 + x + y + z") +
           line(1, "for one in many:") + line(2, "total = total * 0.5 + one") +
           line(1, "return total + named[\"p\"] + named[\"q\"] * 0.5");
  }

 private:
  std::size_t next(std::size_t count) { return random_() % count; }
  std::string choice(std::initializer_list<std::string> texts) {
    return texts.begin()[next(texts.size())];
  }
  static std::string line(int depth, const std::string& text) {
    return std::string(static_cast<std::size_t>(depth) * 4, ' ') + text + "\n";
  }

  std::string variable() { return choice({"a", "b", "c", "d"}); }

  /// Mostly memory of the program's own: else hardly a program would leave its inputs alone.
  std::string start() {
    return choice({"torch.zeros_like(x)", "torch.ones([4, 2])", "x * 0.5", "y + z", "z.clone()",
                   "torch.tanh(y)", "x", "y.view_as(x)",
                   choice({"self.weight", "z", "torch.zeros_like(y)"})});
  }

  std::string view(const std::string& of) {
    return choice({of, of + ".view_as(" + of + ")", of + "[:]", of + "[0:4]", of + ".t().t()",
                   of + ".detach()", of + ".type_as(" + of + ")",
                   "torch.dropout(" + of + ", 0.5, False)", of + ".expand([4, 2])",
                   of + ".reshape([4, 2])", "torch.broadcast_tensors([" + of + "])[0]",
                   of + ".float()", of + ".view([4, 2])", "torch.split(" + of + ", 4)[0]"});
  }

  std::string turn() {
    return choice({"a, b = b, a", "c, d = d, c", "a, b, c = b, c, a", "b, c, d, a = a, b, c, d",
                   "a = " + start(), "d = " + start()});
  }

  std::string value() {
    switch (next(12)) {
      case 0:
        return variable() + " * 0.5 + " + variable() + " * 0.25";
      case 1:
        return "torch.tanh(" + variable() + ")";
      case 2:
        return variable() + ".clone()";
      case 3:
        return variable() + choice({" + 0", " * 1", " + count", " * (x.dim() - 1)"});
      case 4:
        return view(variable());
      case 5:
        return choice({"many[0]", "many[-1]", "many[count % len(many)]"});
      case 6:
        return choice({"named[\"p\"]", "named[\"q\"]"});
      case 7:
        return choice({"pair[0]", "pair[1]"});
      case 8:
        return "torch.stack([" + variable() + ", " + variable() + "])[" + choice({"0", "1"}) + "]";
      case 9:
        return variable() + " if float(" + variable() + ".sum()) > 1.0 else " + variable();
      case 10:
        return choice({"x", "y", "z", "self.weight + x", "self.weight * 2.0"});
      default:
        return "torch.relu(" + variable() + ")";
    }
  }

  std::string write() {
    const std::string to =
        choice({variable(), variable(), variable(), "many[0]", "pair[1]", "named[\"q\"]"});
    switch (next(8)) {
      case 0:
        return to + ".mul_(0.5)";
      case 1:
        return to + ".copy_(" + variable() + ")";
      case 2:
        return to + ".add_(" + variable() + ", alpha=0.5)";
      case 3:
        return to + "[0].zero_()";
      case 4:
        return to + "[:, 0] = " + variable() + "[:, 1] + 1.0";
      case 5:
        return "torch.mul(" + variable() + ", 0.5, out=" + variable() + ")";
      case 6:
        return variable() + " = " + to + ".tanh_()";
      default:
        return next(6) != 0 ? to + "[1:3].fill_(0.5)"
                            : variable() + " = torch.zeros_like(x).set_(" + variable() + ")";
    }
  }

  std::string statement(int depth) {
    switch (next(depth < 3 ? 20 : 14)) {
      case 0:
      case 1:
      case 2:
      case 3:
        return line(depth, variable() + " = " + value());
      case 4:
      case 5:
        return line(depth, write());
      case 6:
        return line(depth, turn());
      case 7:
        return line(depth, choice({"many.append(", "many.insert(0, "}) + variable() + ")");
      case 8:
        return line(depth,
                    choice({"many.reverse()", "many = [many[-1], many[0]]",
                            "many = many + [" + variable() + "]", "many[0] = " + variable()}));
      case 9:
        return line(depth, choice({"named[\"p\"] = ", "named[\"q\"] = "}) + variable());
      case 10:
        return line(depth, choice({"named = {\"p\": named[\"q\"], \"q\": named[\"p\"]}",
                                   "named = {\"p\": " + variable() + ", \"q\": named[\"q\"]}"}));
      case 11:
        return line(depth, choice({"pair = (pair[1], pair[0])",
                                   "pair = (" + variable() + ", " + variable() + ")",
                                   variable() + ", d = pair"}));
      case 12:
        return line(depth, "a, b = self.helper(" + variable() + ", " + variable() + ")");
      case 13:
        return line(depth, "count += 1");
      case 14:
      case 15:
        return nested(depth,
                      "if float(" + variable() + ".sum()) > " + choice({"0.5", "2.0", "6.0"}) + ":",
                      next(2) != 0);
      case 16:
        return nested(
            depth,
            "for i" + std::to_string(depth) + " in range(" + choice({"2", "3"}) + "):", false);
      case 17:
        return nested(
            depth,
            "for i" + std::to_string(depth) + " in range(x.size(1) + " + choice({"0", "1"}) + "):",
            false);
      case 18:
        return nested(
            depth,
            "for i" + std::to_string(depth) + " in range(int(y[0, 0].abs() * 10.0) % 4):", false);
      default: {
        const std::string name = "n" + std::to_string(depth);
        return line(depth, name + " = 0") +
               line(depth,
                    "while " + name + " < 4 and float(" + variable() + ".abs().max()) < 50.0:") +
               line(depth + 1, name + " += 1") + round(depth + 1);
      }
    }
  }

  std::string nested(int depth, const std::string& head, bool has_else) {
    std::string text = line(depth, head);
    if (head.starts_with("for")) return text + round(depth + 1);
    text += block(depth + 1, 1 + next(4));
    if (has_else) text += line(depth, "else:") + block(depth + 1, 1 + next(2));
    return text;
  }

  /// The body of a loop: half of them write what the round before has left under another name.
  std::string round(int depth) {
    if (next(2) != 0) return block(depth, 1 + next(4));
    return line(depth, write()) + block(depth, next(3)) + line(depth, turn());
  }

  std::string block(int depth, std::size_t statements) {
    std::string text;
    while (statements-- > 0) text += statement(depth);
    return text;
  }

  std::mt19937 random_;
};

}  // namespace tensoa::test
