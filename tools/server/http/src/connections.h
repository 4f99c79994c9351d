#pragma once
// The open connections of a server, and which of them makes room for a new one. Used on the I/O
// thread only.

#include <cstddef>
#include <list>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace weft::http {

class Connection;

class Connections {
 public:
  // An address (peer_group.h) with more than this part of all connections makes room first.
  static constexpr std::size_t kShare = 4;

  // Where a connection is; kept in it.
  struct Place {
    std::list<std::shared_ptr<Connection>>::iterator at;
    std::pair<const std::string, std::size_t>* group = nullptr;  // its address, and how many it has
  };

  void add(const std::shared_ptr<Connection>& connection, const std::string& peer);
  void remove(Connection& connection);
  // Its client has sent or taken something, or has its turn from now on.
  void touch(Connection& connection);
  // Closes the connection that waits for its client longest: among those of the address that has
  // the most, if these are more than one in kShare, else among all. Returns false if none waits for
  // its client.
  bool make_room();

  std::size_t size() const { return all_.size(); }
  bool empty() const { return all_.empty(); }
  std::vector<std::shared_ptr<Connection>> all() const { return {all_.begin(), all_.end()}; }

 private:
  using Group = std::pair<const std::string, std::size_t>;
  const Group* largest_group() const;
  // Null if there is none. `group`: null for all.
  std::shared_ptr<Connection> longest_waiting(const Group* group) const;

  std::list<std::shared_ptr<Connection>> all_;  // those that were touched longest ago first
  std::unordered_map<std::string, std::size_t> groups_;
};

}  // namespace weft::http
