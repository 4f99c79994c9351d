// Calls functions of the C API in the order that the bytes choose, with arguments that are right,
// wrong, stale or of another type. Every call must return a status; if it is not a success, with a
// message, and without results. Files are in a temporary folder.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <fcntl.h>
#include <unistd.h>

#include "c_api/world.h"

namespace weft_fuzz {
namespace {

namespace fs = std::filesystem;

World* running = nullptr;

std::string contents(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// A folder that is the current one while an input runs, and is removed at the end.
class Folder {
 public:
  Folder() {
    char name[] = "/tmp/weft-c-api-fuzz-XXXXXX";
    require(mkdtemp(name) != nullptr, "no temporary folder");
    path_ = name;
    fs::create_directory(path_ / "folder");
    fs::copy_file(WEFT_FUZZ_MODEL, path_ / "stories.gguf");
    const std::string tiny = (path_ / "tiny.gguf").string();
    require(weft_write_made_model("llama", nullptr, 0, tiny.c_str(), nullptr) == WEFT_SUCCESS,
            "no tiny model");
    for (const char* name_of : {"stories.gguf", "tiny.gguf"})
      kept_.emplace_back(name_of, contents(path_ / name_of));
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  const fs::path& path() const { return path_; }
  const std::string& tiny() const { return kept_[1].second; }
  // What it has at the beginning of every input.
  void restore() const {
    for (const auto& entry : fs::directory_iterator(path_)) {
      const std::string name = entry.path().filename().string();
      if (name == "stories.gguf" || name == "tiny.gguf" || name == "folder") continue;
      fs::remove_all(entry.path());
    }
    for (const auto& [name, bytes] : kept_) {
      std::error_code error;
      if (fs::file_size(path_ / name, error) == bytes.size()) continue;
      fs::remove_all(path_ / name);
      std::ofstream(path_ / name, std::ios::binary) << bytes;
    }
  }

 private:
  fs::path path_;
  std::vector<std::pair<std::string, std::string>> kept_;
};

const Folder& folder() {
  static const Folder instance;
  return instance;
}

// It keeps the weights for other sessions, too.
weft_session* kept_session() {
  static weft_session* const kept = [] {
    weft_session_options options;
    weft_session_options_init(&options, sizeof options);
    options.context = 64, options.prefill_width = 8, options.workers = 1, options.sequences = 2;
    weft_session* session = nullptr;
    require(weft_session_open(stories(), &options, &session, nullptr) == WEFT_SUCCESS, "open");
    register_callbacks();
    return session;
  }();
  return kept;
}

// What every input finds.
void prepare() {
  require(chdir(folder().path().c_str()) == 0, "no folder");
  folder().restore();
  for (const std::int32_t sequence : {0, 1})
    require(weft_session_truncate(kept_session(), sequence, 0, nullptr) == WEFT_SUCCESS,
            "truncate");
}

}  // namespace

World& world() {
  return *running;
}

weft_model* stories() {
  static weft_model* model = nullptr;
  if (!model) {
    const std::string path = (folder().path() / "stories.gguf").string();
    require(weft_model_open(path.c_str(), nullptr, &model, nullptr) == WEFT_SUCCESS, "no model");
  }
  return model;
}

weft_session* shared_session() {
  weft_session* session = nullptr;
  require(weft_session_share(kept_session(), &session, nullptr) == WEFT_SUCCESS, "share");
  return session;
}

const std::string& tiny_model() {
  return folder().tiny();
}

}  // namespace weft_fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft_fuzz;
  static const int outside = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  prepare();
  {
    World input(data, size);
    running = &input;
    input.add(Type::model, stories());
    for (int i = 0; i < 40 && !input.done(); ++i) call_any();
    current_function = "the end";
  }
  running = nullptr;
  require(fchdir(outside) == 0, "no folder outside");
  return 0;
}
