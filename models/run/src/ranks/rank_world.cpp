#include "ranks/rank_world.h"

#include <algorithm>
#include <utility>

#include "weft/base/clock.h"
#include "weft/base/error.h"
#include "weft/base/text.h"
#include "weft/run/modes.h"

namespace weft::run {
namespace {

constexpr double kMeetingSeconds = 120;   // until all ranks have read the headers of their files
constexpr double kOpeningSeconds = 3600;  // until all ranks have loaded their weights

}  // namespace

RankWorld::RankWorld(const Checkpoint& file, const ModelOptions& options) {
  try {
    connect(file, options);
    meet(introduction(file, options));
  } catch (const std::exception& error) {
    if (communicator_) communicator_->abandon(error.what());
    for (std::thread& thread : threads_) thread.join();
    throw;
  }
}

void RankWorld::connect(const Checkpoint& file, const ModelOptions& options) {
  if (launched_ranks() > 1) {
    communicator_ = &launched_communicator();
    check_number_of_ranks(options.sharding, communicator_->size());
  } else {
    start_threads(file, options);
  }
  if (options.slow_link) {
    slowed_ = slowed_communicator(*communicator_, *options.slow_link);
    communicator_ = slowed_.get();
  }
  link_ = std::make_unique<RankLink>(*communicator_, options.rank_timeout);
}

RankWorld::~RankWorld() {
  const Command leave{.kind = CommandKind::leave};
  Message message;
  send(message.write(leave, std::span<const char>()));
  if (is_lost()) communicator_->abandon("another rank was lost");
  for (std::thread& thread : threads_) thread.join();
}

void RankWorld::start_threads(const Checkpoint& file, const ModelOptions& options) {
  endpoints_ = in_process_communicators(options.sharding.ranks());
  communicator_ = endpoints_.front().get();
  ModelOptions quiet = options;
  quiet.progress = {};  // it is called on the thread of rank 0 only
  threads_.reserve(endpoints_.size());
  for (std::size_t r = 1; r < endpoints_.size(); ++r) {
    threads_.emplace_back([&endpoint = endpoints_[r], file, quiet] {
      try {
        follow(file, quiet, *endpoint, quiet.sharding.ranks());
      } catch (const std::exception& error) {
        endpoint->abandon(error.what());
      }
    });
  }
}

void RankWorld::meet(const std::string& own) {
  for (int r = 1; r < communicator_->size(); ++r) {
    const auto bytes = communicator_->receive(r, Channel::control, kMeetingSeconds);
    const std::string other(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (other != own) fail<ValueError>("rank {} has {}, but rank 0 has {}", r, other, own);
  }
}

void RankWorld::send(std::span<const std::byte> message) {
  if (is_lost()) return;
  try {
    for (int r = 1; r < communicator_->size(); ++r)
      communicator_->send(r, Channel::control, message);
  } catch (const RankError& error) {
    give_up(error);
  }
}

void RankWorld::check() const {
  if (loss_) throw RankError(*loss_);
  if (link_->loss()) throw RankError(*link_->loss());
}

void RankWorld::give_up(const RankError& why) {
  if (!loss_) loss_ = why;
  communicator_->abandon(why.what());
}

std::vector<std::string> RankWorld::receive_from_all(double seconds) {
  std::vector<std::string> texts;
  try {
    for (int r = 1; r < communicator_->size(); ++r) {
      const auto bytes = communicator_->receive(r, Channel::control, seconds);
      texts.emplace_back(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    }
  } catch (const RankError& error) {
    give_up(error);
    throw;
  }
  return texts;
}

// Seconds of a message to a rank and back, the median of n.
double RankWorld::time_echoes(int rank, std::int64_t n, std::int64_t bytes) {
  const Command command{.kind = CommandKind::echo, .numbers = {rank, n}};
  Message message;
  send(message.write(command, std::span<const char>()));
  std::vector<std::byte> parcel(static_cast<std::size_t>(bytes));
  std::vector<double> seconds;
  for (std::int64_t i = 0; i < n; ++i) {
    const auto begin = Clock::now();
    communicator_->send(rank, Channel::data, parcel);
    communicator_->receive(rank, Channel::data, parcel, link_->timeout());
    seconds.push_back(seconds_since(begin));
  }
  std::ranges::nth_element(seconds, seconds.begin() + n / 2);
  return seconds[static_cast<std::size_t>(n / 2)];
}

LinkSpeed RankWorld::measure_link(int rank) {
  constexpr std::int64_t kSmall = 64, kLarge = std::int64_t{4} << 20;
  const std::lock_guard lock(turn_);
  const double small = time_echoes(rank, 101, kSmall) / 2;
  const double large = time_echoes(rank, 5, kLarge) / 2;
  return {.latency = small,
          .bytes_per_second = static_cast<double>(kLarge - kSmall) / std::max(large - small, 1e-9)};
}

std::unique_ptr<OtherRanks> RankWorld::open_session(const PlannedModel& planned) {
  return std::make_unique<Followers>(shared_from_this(), planned);
}

Followers::Followers(std::shared_ptr<RankWorld> world, const PlannedModel& planned)
    : world_(std::move(world)), session_(world_->new_session()) {
  const std::lock_guard turn(world_->turn());
  world_->check();
  tell(CommandKind::open, {}, std::span<const char>(options_text(planned.options)));
  const std::vector<std::string> answers = world_->receive_from_all(kOpeningSeconds);
  const std::string own = steps_text(planned), opened = std::string(kOpened) + own;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const std::string_view answer = answers[i];
    if (answer == opened) continue;
    tell(CommandKind::close, {}, std::span<const char>());
    if (!answer.starts_with(kOpened)) fail<Error>("rank {}: {}", i + 1, answer);
    fail<Error>(
        "rank {} has memory for {}, rank 0 for {}: give every rank as much memory, or ask for less "
        "(--ctx-size, --batch-size)",
        i + 1, answer.substr(kOpened.size()), own);
  }
}

Followers::~Followers() {
  const std::lock_guard turn(world_->turn());
  tell(CommandKind::close, {}, std::span<const char>());
}

// If a rank is lost, nothing is told to the others any more: the next step says so.
template <class T>
void Followers::tell(CommandKind kind, std::initializer_list<std::int64_t> numbers,
                     std::span<const T> more, bool verify) {
  if (world_->is_lost()) return;
  Command command{.kind = kind, .session = session_, .undo = undo_, .verify = verify};
  std::ranges::copy(numbers, command.numbers);
  world_->send(message_.write(command, more));
  undo_ = false;
}

void Followers::truncate(std::int32_t sequence, std::int64_t length) {
  const std::lock_guard turn(world_->turn());
  tell(CommandKind::truncate, {sequence, length}, std::span<const char>());
}

void Followers::copy(std::int32_t from, std::int32_t to, std::int64_t length) {
  const std::lock_guard turn(world_->turn());
  tell(CommandKind::copy, {from, to, length}, std::span<const char>());
}

void Followers::clear(std::int32_t sequence) {
  const std::lock_guard turn(world_->turn());
  tell(CommandKind::clear, {sequence}, std::span<const char>());
}

void Followers::mark(std::int32_t sequence, std::int64_t length) {
  const std::lock_guard turn(world_->turn());
  tell(CommandKind::mark, {sequence, length}, std::span<const char>());
}

std::string Followers::why_not_saved(std::int32_t /*sequence*/) const {
  return std::string(why_not(Feature::saving, Mode::sharded));
}

void Followers::set_lora_scales(std::int32_t sequence, std::span<const float> scales) {
  const std::lock_guard turn(world_->turn());
  tell(CommandKind::lora_scales, {sequence}, scales);
}

void Followers::fill_with_noise(std::int32_t sequence, std::int64_t length) {
  const std::lock_guard turn(world_->turn());
  tell(CommandKind::noise, {sequence, length}, std::span<const char>());
}

void Followers::begin_step(std::span<const StepToken> tokens, bool verify) {
  std::unique_lock turn(world_->turn());
  runs_before_ = world_->link().runs();
  reports_due_ = verify;
  reports_.clear();
  tell(CommandKind::step, {}, tokens, verify);
  world_->check();
  turn_ = std::move(turn);
}

void Followers::collect_reports() {
  if (!std::exchange(reports_due_, false)) return;
  world_->check();
  for (const std::string& text : world_->receive_from_all(world_->link().timeout()))
    reports_.push_back(report_of_text(text));
}

void Followers::end_step(bool kept) noexcept {
  const auto turn = std::move(turn_);
  if (kept) return;
  undo_ = true;
  if (world_->link().runs() == runs_before_)
    return world_->give_up(RankError(0, "rank 0 could not begin a step that others began"));
  try {
    collect_reports();
  } catch (const std::exception&) {  // the step has failed before
    return;
  }
}

}  // namespace weft::run
