#include "exchange/exchanges.h"

#include <span>

#include "exchange/collectives.h"

namespace weft::scheduler {

Exchange& Exchanges::add(const Graph& graph, const Node& node, const KernelArgs& args,
                         KernelFailure& failure) {
  auto made = collective_of(*node.op).make({run_, graph, node, all_.size(), args, failure});
  return *all_.emplace_back(std::move(made));
}

void Exchanges::give_up(const std::string& error) noexcept {
  RankLink& link = run_.link;
  try {
    for (const auto& exchange : std::span(all_).subspan(run_.done))
      if (!link.loss()) exchange->give_up(error);
  } catch (const RankError& lost) {
    link.lose(lost);
  } catch (const std::exception& unable) {  // no memory
    link.lose(RankError(link.rank(), unable.what()));
  }
  if (link.loss() && link.has_others()) link.communicator().abandon(link.loss()->what());
}

}  // namespace weft::scheduler
