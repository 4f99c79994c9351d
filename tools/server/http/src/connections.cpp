#include "connections.h"

#include <exception>

#include "access/peer_group.h"
#include "connection.h"

namespace weft::http {

void Connections::add(const std::shared_ptr<Connection>& connection, const std::string& peer) {
  Group& group = *groups_.try_emplace(peer_group(peer), 0).first;
  connection->place = {all_.insert(all_.end(), connection), &group};
  ++group.second;
}

void Connections::remove(Connection& connection) {
  Group& group = *connection.place.group;
  if (--group.second == 0) groups_.erase(groups_.find(group.first));
  all_.erase(connection.place.at);
}

void Connections::touch(Connection& connection) {
  all_.splice(all_.end(), all_, connection.place.at);
}

bool Connections::make_room() {
  const Group* const largest = largest_group();
  std::shared_ptr<Connection> chosen;
  if (largest && largest->second * kShare > all_.size()) chosen = longest_waiting(largest);
  if (!chosen) chosen = longest_waiting(nullptr);
  if (!chosen) return false;
  try {
    chosen->close();
  } catch (const std::exception&) {
    // A hook that throws does not keep the connection open.
  }
  return true;
}

const Connections::Group* Connections::largest_group() const {
  const Group* largest = nullptr;
  for (const Group& group : groups_)
    if (!largest || group.second > largest->second) largest = &group;
  return largest;
}

std::shared_ptr<Connection> Connections::longest_waiting(const Group* group) const {
  for (const auto& connection : all_)
    if ((!group || connection->place.group == group) && connection->waits_for_client())
      return connection;
  return nullptr;
}

}  // namespace weft::http
