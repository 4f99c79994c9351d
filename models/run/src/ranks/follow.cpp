// What the ranks other than 0 do: the parts of steps that rank 0 asks for.
#include <algorithm>
#include <map>
#include <memory>
#include <optional>

#include "weft/base/build_id.h"
#include "weft/base/error.h"
#include "weft/base/hash.h"
#include "weft/files/identity.h"
#include "weft/run/kept_texts.h"
#include "weft/run/ranks.h"

#include "model/model_impl.h"
#include "ranks/open_for_rank.h"
#include "ranks/rank_world.h"
#include "session/session_impl.h"

namespace weft::run {
namespace {

constexpr std::int64_t kMaxMessage = std::int64_t{256} << 20;  // bytes

// A session of this rank. The last step is kept or undone when it is known how it went on rank 0.
class FollowerSession {
 public:
  FollowerSession(std::shared_ptr<const Model> model, const SessionOptions& options)
      : session_(std::move(model), options) {}

  Session& session() { return session_; }

  void settle(bool undo) {
    if (!pending_) return;
    pending_ = false;
    if (undo) return SessionAccess::impl(session_).memory.rollback();
    if (!failed_.empty()) fail<Error>("{}", failed_);
    SessionAccess::impl(session_).keep_step(tokens_);
  }

  // Returns the report on the nodes if there is an observer.
  VerifyReport step(std::span<const StepToken> tokens, bool verify) {
    std::optional<Verifier> verifier;
    if (verify) {
      const std::size_t plan = session_.plan_for(std::ssize(tokens));
      verifier.emplace(session_.graph(plan), session_.plan(plan));
    }
    compute(tokens, verifier ? &*verifier : nullptr);
    return verifier ? verifier->report() : VerifyReport();
  }

 private:
  // Throws what happens before the run begins: rank 0 has begun it, so that this rank must end.
  void compute(std::span<const StepToken> tokens, NodeObserver* observer) {
    auto& s = SessionAccess::impl(session_);
    s.check_step(tokens);
    s.memory.begin(tokens);
    tokens_.assign(tokens.begin(), tokens.end());
    pending_ = true;
    failed_.clear();
    const auto step = s.prepare(tokens);
    try {
      s.compute(step, tokens, nullptr, observer);
    } catch (const CancelledError&) {
      failed_ = "the step was cancelled";
    } catch (const RankError&) {
      throw;
    } catch (const std::exception& error) {
      failed_ = error.what();
    }
  }

  Session session_;
  bool pending_ = false;           // a step that was computed and is not part of the sequences yet
  std::vector<StepToken> tokens_;  // those of that step
  std::string failed_;             // how it failed, if it did
};

class Follower {
 public:
  Follower(std::shared_ptr<const Model> model, const ModelOptions& options,
           Communicator& communicator)
      : model_(std::move(model)), options_(options), communicator_(communicator) {}

  void run() {
    for (;;) {
      const std::int64_t n = communicator_.wait(0, Channel::control, 0);
      if (n > kMaxMessage) throw RankError(0, fmt::format("rank 0 sent {} bytes at once", n));
      message_.resize(static_cast<std::size_t>(n));
      communicator_.take(0, Channel::control, message_);
      const std::span<const std::byte> message = message_;
      Command command;
      if (message.size() < sizeof(command))
        throw RankError(0, fmt::format("rank 0 sent {} bytes, expected a command", message.size()));
      std::memcpy(&command, message.data(), sizeof(command));
      if (command.kind == CommandKind::leave) return;
      obey(command, message);
    }
  }

 private:
  // For rank 0, which measures the link.
  void echo(const Command& command) {
    if (command.numbers[0] != communicator_.rank()) return;
    for (std::int64_t i = 0; i < command.numbers[1]; ++i)
      communicator_.send(
          0, Channel::data,
          communicator_.receive(0, Channel::data, impl_of(*model_).ranks.link->timeout()));
  }

  void obey(const Command& command, std::span<const std::byte> message) {
    if (command.kind == CommandKind::echo) return echo(command);
    if (command.kind == CommandKind::open) return open(command, message);
    if (command.kind == CommandKind::close) {
      sessions_.erase(command.session);
      return;
    }
    FollowerSession& own = session_of(command);
    own.settle(command.undo != 0);
    Session& session = own.session();
    const auto& n = command.numbers;
    const auto sequence = static_cast<std::int32_t>(n[0]);
    switch (command.kind) {
      case CommandKind::step: {
        read_tokens(message, tokens_);
        const VerifyReport report = own.step(tokens_, command.verify != 0);
        if (command.verify != 0) answer(report_text(report));
        return;
      }
      case CommandKind::truncate:
        return session.truncate(sequence, n[1]);
      case CommandKind::copy:
        return session.copy(sequence, static_cast<std::int32_t>(n[1]), n[2]);
      case CommandKind::clear:
        return session.clear(sequence);
      case CommandKind::mark:
        return mark(session, sequence, n[1]);
      case CommandKind::lora_scales:
        return session.set_lora_scales(sequence, payload<float>(message));
      case CommandKind::noise:
        return session.fill_with_noise(sequence, n[1]);
      default:
        throw RankError(0, fmt::format("rank 0 sent the unknown command {}",
                                       static_cast<std::int32_t>(command.kind)));
    }
  }

  FollowerSession& session_of(const Command& command) {
    const auto found = sessions_.find(command.session);
    if (found != sessions_.end()) return found->second;
    throw RankError(
        0, fmt::format("rank 0 asks for session {}, which is not open here", command.session));
  }

  // Rank 0 waits for the answer: what plans must have in common, or the error.
  void open(const Command& command, std::span<const std::byte> message) {
    std::string text;
    try {
      const auto sent = payload<char>(message);
      SessionOptions options = options_of_text({sent.data(), sent.size()});
      options.mem_budget = options_.rank_budget;
      if (options.workers == 0) options.workers = options_.rank_workers;
      const auto made = sessions_.try_emplace(command.session, model_, options);
      if (!made.second) fail<ValueError>("session {} is open already", command.session);
      const PlannedModel& planned = SessionAccess::impl(made.first->second.session()).planned;
      text = std::string(kOpened) + steps_text(planned);
    } catch (const std::exception& e) {
      text = e.what();
    }
    answer(text);
  }

  void answer(const std::string& text) {
    communicator_.send(0, Channel::control, std::as_bytes(std::span(text)));
  }

  const std::shared_ptr<const Model> model_;
  const ModelOptions& options_;
  Communicator& communicator_;
  std::map<int, FollowerSession> sessions_;
  std::vector<std::byte> message_;  // the last one
  std::vector<StepToken> tokens_;   // those in the last step
};

}  // namespace

namespace {

// The contents of an adapter, whose path may be another one on each rank.
std::string text_of_adapter(const std::string& path, float scale) {
  const Checkpoint file = Checkpoint::open(path);
  return fmt::format(";{:016x}-{:016x}*{}", Identity(file).description(), sample_of_weights(file),
                     scale);
}

std::uint64_t hash_of_options(const ModelOptions& options) {
  std::string text = fmt::format("{};{}", options.quantize, options.sharding.min_elems);
  for (const LoraFile& lora : options.adapters.loras)
    text += text_of_adapter(lora.path, lora.scale);
  for (const ControlVectorFile& vector : options.adapters.control_vectors)
    text += text_of_adapter(vector.path, vector.scale);
  if (const auto& layers = options.adapters.control_layers)
    text += fmt::format(";{}-{}", layers->first, layers->last);
  for (const KeyOverride& o : options.overrides)
    text +=
        std::visit([&](const auto& value) { return fmt::format(";{}={}", o.key, value); }, o.value);
  Fnv1a64 hash;
  hash.add(std::as_bytes(std::span(text)));
  return hash.value();
}

}  // namespace

std::string introduction(const Checkpoint& file, const ModelOptions& options) {
  Identity identity(file);
  return fmt::format("build {}, sharding {}, options {:016x}, model {:016x}-{:016x}", build_id(),
                     to_string(options.sharding), hash_of_options(options), identity.description(),
                     sample_of_weights(file));
}

void follow(const Checkpoint& opened, const ModelOptions& options, Communicator& endpoint,
            int ranks_here) {
  const Checkpoint file = model_for_rank(opened, options.sharding, endpoint.rank());
  const auto slowed =
      options.slow_link ? slowed_communicator(endpoint, *options.slow_link) : nullptr;
  Communicator& communicator = slowed ? *slowed : endpoint;
  RankLink link(communicator, options.rank_timeout);
  const std::string own = introduction(file, options);
  communicator.send(0, Channel::control, std::as_bytes(std::span(own)));
  Follower(load_rank(file, options, communicator.rank(), link, ranks_here), options, communicator)
      .run();
}

}  // namespace weft::run

namespace weft {

bool follows_rank_0() {
  return launched_ranks() > 1 && launched_communicator().rank() > 0;
}

void follow_rank_0(const std::string& path, const ModelOptions& options) {
  Communicator& communicator = launched_communicator();
  try {
    check_number_of_ranks(options.sharding, communicator.size());
    run::follow(run::open_for_rank(path, options, communicator.rank()), options, communicator, 1);
  } catch (const std::exception& error) {
    communicator.abandon(error.what());
    throw;
  }
}

}  // namespace weft
