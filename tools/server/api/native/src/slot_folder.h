#pragma once
// Where saved slots are: in the folder of --slot-save-path, or, of owners with a name, in folders
// below it, so that nobody can restore or replace what another one saved.

#include <cstdint>
#include <string>

#include "weft/api/endpoints.h"

namespace weft::api::native {

class SlotFolder {
 public:
  // As NativeOptions::slot_save_path and slot_quota.
  SlotFolder(std::string path, std::int64_t quota) : path_(std::move(path)), quota_(quota) {}

  // The folder of the call's client and of this cache_salt. Throws not_supported() if there is
  // none.
  std::string of(const ApiCall& call, const std::string& cache_salt) const;
  // The folder of all that the call's client saves.
  std::string of_client(const ApiCall& call) const;
  // Right before a slot is saved as `path`, on any thread: makes its folder. Throws ApiError 403 if
  // what is below the client's folder reaches the quota, and 400 if there is something else than a
  // file; IoError if the folder cannot be made or read.
  void make_room(const std::string& client_folder, const std::string& path) const;

 private:
  std::string path_;
  std::int64_t quota_;
};

}  // namespace weft::api::native
