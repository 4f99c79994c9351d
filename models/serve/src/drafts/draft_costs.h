#pragma once
// What drafts cost and bring, measured while texts are generated, and how many tokens to guess.
//
// A step of W tokens takes t(W). With n guesses of kind k, whose proposal takes d(k) each and whose
// guess i is right with probability p(k, i) if those before it were, a step gives
//   E = p(1) + p(1) p(2) + .. + p(1) .. p(n)
// tokens more. For one of A texts, beside other guesses from which F tokens are expected,
// best_length() maximizes (A + F + E) / (t(W + n) + n d), and returns 0 where (A + F) / t(W) is not
// less. A kind that loses is tried again as long as all that was lost this way stays below a small
// share of the time spent.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace weft::serve {

class DraftCosts {
 public:
  static constexpr std::size_t kMaxGuesses = 32;
  static constexpr std::int64_t kMaxWidth = 64;  // wider steps are not measured

  // By kind: the cost of a guess in steps of one token, as expected before it is measured.
  explicit DraftCosts(const std::vector<double>& expected_costs);

  // A step as far as it is known while its guesses are made.
  struct Shape {
    std::int64_t n_texts = 1;    // whose next tokens it gives
    std::int64_t n_guesses = 0;  // of other texts
    std::int64_t width() const { return n_texts + n_guesses; }
  };
  // Another text begins, which may be one of those that can be guessed.
  void begin_text();
  // At most `max` for a text of the next step.
  std::size_t best_length(std::size_t kind, Shape shape, std::size_t max);
  // What was guessed then. `extra`: seconds that were not for these guesses (Draft::prepare).
  void proposed(std::size_t kind, std::size_t n_guesses, double seconds, double extra);
  // The step was computed, with so many tokens; 0: not counted, because it also read prompts.
  void stepped(std::int64_t width, double seconds);
  // What became of the guesses of a text in such a step.
  void settled(std::size_t kind, Shape shape, std::size_t n_guesses, std::size_t n_right);

  // Seconds, as far as they are known from measurements or from similar widths; 0 as long as
  // nothing was measured.
  double step_seconds(std::int64_t width) const;
  // Seconds of steps of this width that were measured; none if none was.
  std::optional<double> measured_seconds(std::int64_t width) const;
  // Whether a step for so many texts should have no guesses, so that its time is known. Only a few
  // steps are wanted, also if they cannot be measured.
  bool wants_plain_step(std::int64_t n_texts);
  double guess_seconds(std::size_t kind) const;

 private:
  // The median of the last measurements, so that an interrupted one does not count.
  class Recent {
   public:
    void add(double value);
    std::size_t size() const { return n_; }
    double median() const { return median_; }

   private:
    static constexpr std::size_t kKept = 7;
    std::array<double, kKept> values_{};
    std::size_t n_ = 0, next_ = 0;
    double median_ = 0;
  };
  struct Kind {
    double expected_cost = 0;
    Recent guess_seconds;
    // Guesses at each position whose predecessors were right, and those of them that were right;
    // older ones count less.
    std::array<double, kMaxGuesses> n_tried{}, n_right{};
    std::array<double, kMaxGuesses> fading{};  // weight of what was expected before
    std::int64_t n_settled = 0;                // times it was used
    double lost = 0;                           // seconds
    bool is_new_text = false;
  };

  struct Choice {
    std::size_t n = 0;
    double gain = 0;  // tokens per second, as a multiple of those without guesses
    double loss = 0;  // expected seconds, if the gain is below 1
  };
  Choice best_choice(const Kind& kind, Shape shape, std::size_t max) const;
  double expected_right(const Kind& kind, std::size_t n) const;  // of n guesses
  double probability(const Kind& kind, std::size_t position, double before) const;
  double guess_seconds(const Kind& kind) const;

  std::vector<Kind> kinds_;
  struct Width {
    Recent seconds;
    std::int64_t last = 0;     // the number of steps when it was measured
    std::int64_t n_plain = 0;  // texts of steps that wants_plain_step() asked for
  };
  std::array<Width, static_cast<std::size_t>(kMaxWidth) + 1> widths_;
  std::int64_t n_steps_ = 0;
  double spent_ = 0;  // seconds
  Choice choice_;     // the last one of best_length()
  // What is expected of the guesses for the next step: tokens that are right, and seconds lost by
  // trials.
  double expected_more_ = 0, at_risk_ = 0;
};

}  // namespace weft::serve
