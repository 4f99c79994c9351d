#pragma once
// Provides oneTBB's threads to a crew: one continue_node per worker except the caller, whose body
// is Crew::serve().

#include <memory>

#include <oneapi/tbb/task_arena.h>

#include "machine/crew.h"

namespace weft::scheduler {

class CrewThreads {
 public:
  CrewThreads(oneapi::tbb::task_arena& arena, Crew& crew, int workers);
  ~CrewThreads();  // closes the crew and waits for its workers
  CrewThreads(const CrewThreads&) = delete;
  CrewThreads& operator=(const CrewThreads&) = delete;

  void call(int w);

 private:
  struct Graph;  // keeps the headers of oneTBB's flow graph out of other files

  oneapi::tbb::task_arena& arena_;
  Crew& crew_;
  std::unique_ptr<Graph> graph_;
};

}  // namespace weft::scheduler
