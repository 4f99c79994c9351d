#include "ranks/rank_world.h"

#include <algorithm>

#include "weft/base/error.h"
#include "weft/base/text.h"

namespace weft::run {
namespace {

constexpr double kMeetingSeconds = 120;   // until all ranks have read the headers of their files
constexpr double kOpeningSeconds = 3600;  // until all ranks have loaded their weights

}  // namespace

RankWorld::RankWorld(const Checkpoint& file, const ModelOptions& options) {
  const int ranks = options.sharding.ranks(), launched = launched_ranks();
  if (launched > 1) {
    communicator_ = &launched_communicator();
    if (communicator_->size() != ranks)
      fail<ValueError>("the sharding {} needs {} ranks, but {} were started",
                       to_string(options.sharding), ranks, communicator_->size());
  } else {
    start_threads(file, options);
  }
  link_ = std::make_unique<RankLink>(*communicator_);
  try {
    meet(introduction(file, options));
  } catch (const std::exception& error) {
    communicator_->abandon(error.what());
    for (std::thread& thread : threads_) thread.join();
    throw;
  }
}

RankWorld::~RankWorld() {
  const Command leave{.kind = CommandKind::leave};
  Message message;
  try {
    send(leave, message.write(leave, std::span<const char>()));
  } catch (const std::exception&) {
    // A rank that is lost has left.
  }
  for (std::thread& thread : threads_) thread.join();
}

void RankWorld::start_threads(const Checkpoint& file, const ModelOptions& options) {
  endpoints_ = in_process_communicators(options.sharding.ranks());
  communicator_ = endpoints_.front().get();
  for (std::size_t r = 1; r < endpoints_.size(); ++r) {
    threads_.emplace_back([&endpoint = endpoints_[r], file, options] {
      try {
        follow(file, options, *endpoint, options.sharding.ranks());
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

void RankWorld::send(const Command&, std::span<const std::byte> message) {
  for (int r = 1; r < communicator_->size(); ++r) communicator_->send(r, Channel::control, message);
}

std::vector<std::string> RankWorld::receive_from_all(double seconds) {
  std::vector<std::string> texts;
  for (int r = 1; r < communicator_->size(); ++r) {
    const auto bytes = communicator_->receive(r, Channel::control, seconds);
    texts.emplace_back(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  return texts;
}

Followers::Followers(std::shared_ptr<RankWorld> world, const SessionOptions& options)
    : world_(std::move(world)), session_(world_->new_session()), turn_(world_->turn()) {
  const std::string text = options_text(options);
  tell(CommandKind::open, {}, std::span<const char>(text));
  const std::vector<std::string> errors = world_->receive_from_all(kOpeningSeconds);
  turn_.unlock();
  for (std::size_t i = 0; i < errors.size(); ++i)
    if (!errors[i].empty()) fail<Error>("rank {}: {}", i + 1, errors[i]);
}

Followers::~Followers() {
  try {
    const std::lock_guard lock(world_->turn());
    tell(CommandKind::close, {}, std::span<const char>());
  } catch (const std::exception&) {
    // There is nobody left to tell.
  }
}

template <class T>
void Followers::tell(CommandKind kind, std::initializer_list<std::int64_t> numbers,
                     std::span<const T> more, bool verify) {
  Command command{.kind = kind, .session = session_, .undo = undo_, .verify = verify};
  std::ranges::copy(numbers, command.numbers);
  undo_ = false;
  world_->send(command, message_.write(command, more));
}

void Followers::step(std::span<const StepToken> tokens, bool verify) {
  turn_.lock();
  const auto wants = [](const StepToken& t) { return t.logits; };
  world_->link().results = std::ranges::any_of(tokens, wants);
  reports_.clear();
  tell(CommandKind::step, {}, tokens, verify);
  verifying_ = verify;
}

void Followers::settle(bool kept) {
  undo_ = !kept;
  if (verifying_ && !world_->link().broken()) {
    verifying_ = false;
    for (const std::string& text : world_->receive_from_all(kOpeningSeconds))
      reports_.push_back(report_of_text(text));
  }
  turn_.unlock();
}

void Followers::truncate(std::int32_t sequence, std::int64_t length) {
  const std::lock_guard lock(turn_);
  tell(CommandKind::truncate, {sequence, length}, std::span<const char>());
}

void Followers::copy(std::int32_t from, std::int32_t to, std::int64_t length) {
  const std::lock_guard lock(turn_);
  tell(CommandKind::copy, {from, to, length}, std::span<const char>());
}

void Followers::set_lora_scales(std::int32_t sequence, std::span<const float> scales) {
  const std::lock_guard lock(turn_);
  tell(CommandKind::lora_scales, {sequence}, scales);
}

void Followers::fill_with_noise(std::int32_t sequence, std::int64_t length) {
  const std::lock_guard lock(turn_);
  tell(CommandKind::noise, {sequence, length}, std::span<const char>());
}

}  // namespace weft::run
