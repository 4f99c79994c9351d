#pragma once
// Options of C as those of C++.

#include <functional>
#include <string>
#include <vector>

#include "weft/run/session.h"
#include "weft/sample/sampler.h"
#include "weft/weft.h"

namespace weft::c_api {

// Each throws like read_options(), and ValueError for values that are out of range.
SessionOptions session_options(const weft_session_options* given);
ModelOptions model_options(const weft_model_options& given);
SamplerOptions sampler_options(const weft_sampler_options* given);
// The same for a vocabulary of this size: biases and breakers must be among its tokens.
SamplerOptions sampler_options(const weft_sampler_options* given, std::int64_t n_vocab);

weft_session_options default_session_options();
weft_sampler_options default_sampler_options();

// Calls it, unless it is NULL.
void log_to(weft_log log, void* user, const std::string& line);
// Empty for NULL.
std::function<bool()> poll_of(weft_poll poll, void* user);
std::function<bool(double)> progress_of(weft_progress progress, void* user);
std::function<void(std::int64_t, std::int64_t)> token_progress_of(weft_token_progress progress,
                                                                  void* user,
                                                                  std::atomic<bool>& cancel);
std::vector<std::string> strings_of(const weft_string* strings, std::size_t n,
                                    std::string_view name);
// The parts of a text between separators; none for NULL.
std::vector<std::string> split_list(const char* text, char separator);

}  // namespace weft::c_api
