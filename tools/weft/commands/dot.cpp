#include "weft/draw/dot.h"

#include <filesystem>
#include <iostream>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "weft/adapters/adapters.h"
#include "weft/backends/backend.h"
#include "weft/base/error.h"
#include "weft/draw/graphviz.h"
#include "weft/files/output_file.h"
#include "weft/run/session.h"
#include "weft/scheduler/passes.h"
#include "weft/scheduler/picture_notes.h"
#include "weft/scheduler/routing.h"

#include "common/flags.h"
#include "common/rank_flags.h"
#include "inputs/variant.h"
#include "pictures/piece_picture.h"
#include "pictures/viewer.h"
#include "profiles/profile_file.h"
#include "subcommand.h"

namespace weft::tools {
namespace {

struct Flags {
  cli::ModelFlags model;
  std::string out, layers, heat, profile, phase = "decode", fold = "alike";
  std::vector<std::string> diff;
  bool passes = false, plan = false;
};

std::int64_t count_ops(const Graph& graph) {
  std::int64_t n = 0;
  for (NodeId id = 0; id < graph.size(); ++id) n += graph[id].kind == NodeKind::op;
  return n;
}

std::int64_t count_made_by(const Graph& graph, std::string_view pass) {
  std::int64_t n = 0;
  for (NodeId id = 0; id < graph.size(); ++id)
    n += graph[id].kind == NodeKind::op && graph[id].made_by == pass;
  return n;
}

void print_pass(std::string_view name, std::int64_t n_ops, std::string_view does) {
  std::cout << fmt::format("{:<24} {:>6}  {}\n", name, n_ops, does);
}

// The graph as built, then with adapters, which the first graph of a plan has in any case.
void print_adapter_passes(const Adapters& adapters, const Graph& graph) {
  std::int64_t n_ops = count_made_by(graph, "");
  print_pass("(as built)", n_ops, "");
  for (const AdapterPass& pass : adapters.passes()) {
    n_ops += count_made_by(graph, pass.name);
    print_pass(pass.name, n_ops, pass.summary);
  }
}

// Prints a line per pass: its name, the number of ops after it, its description.
void print_passes(const Model& model, const Flags& flags) {
  SessionOptions options = flags.model.session;
  options.route.clear();
  options.backend = "reference";  // the graph as built, without any pass
  options.passes_off = {"all"};
  options.mem_budget = std::numeric_limits<std::int64_t>::max();
  const PlannedModel plain = plan_model(model, options);
  const Graph& plan_graph = plain.graphs[find_phase(plain, flags.phase)];
  std::cout << fmt::format("{:<24} {:>6}  {}\n", "pass", "ops", "does");
  const auto seen = [&](const Pass* pass, const Graph& graph) {
    if (!pass) return print_adapter_passes(model.adapters(), graph);
    print_pass(pass->name, count_ops(graph), pass->summary);
  };
  const SessionOptions& session = flags.model.session;
  const PassOptions passes{
      .off = session.passes_off,
      .resident = session.weights != WeightMode::mapped && session.weights != WeightMode::streamed};
  Graph fused = fuse(plan_graph, passes, seen);
  const auto assignments = assign({&fused, 1}, Routes(session.backend, session.route));
  lower(std::move(fused), assignments.front(), passes, seen);
}

// A picture and the facts about its boxes.
struct Drawn {
  draw::Picture picture;
  std::vector<BoxFacts> facts;
};

draw::LayersAlike both(draw::LayersAlike a, draw::LayersAlike b) {
  return [a = std::move(a), b = std::move(b)](std::int64_t x, std::int64_t y) {
    return a(x, y) && b(x, y);
  };
}

draw::LayersAlike alike(const Variant& variant) {
  return both(draw::layers_alike(variant.graph()), steps_alike(variant.plan()));
}

Drawn draw_one(const Variant& variant, const draw::PictureOptions& options,
               const NoteOptions& notes) {
  Drawn drawn{draw::picture_of(variant.graph(), options), {}};
  drawn.facts = add_notes(drawn.picture, variant.graph(), variant.plan(), notes);
  return drawn;
}

Drawn draw_difference(const Model& model, const Flags& flags, draw::PictureOptions options) {
  const Variant before = make_variant(model, flags.model.session, flags.diff[0], flags.phase);
  const Variant after = make_variant(model, flags.model.session, flags.diff[1], flags.phase);
  options.may_fold = both(alike(before), alike(after));
  options.title += fmt::format(": from {} to {}", flags.diff[0], flags.diff[1]);
  Drawn a = draw_one(before, options, {.kernels = true});
  Drawn b = draw_one(after, options, {.kernels = true});
  Drawn drawn{difference(a.picture, b.picture), std::move(b.facts)};
  for (BoxFacts& box : a.facts) {
    box.name = "gone_" + box.name;
    const auto named = [&](const draw::PictureBox& other) { return other.name == box.name; };
    if (std::any_of(drawn.picture.boxes.begin(), drawn.picture.boxes.end(), named))
      drawn.facts.push_back(std::move(box));
  }
  return drawn;
}

Drawn draw_graph(const Model& model, Flags& flags, draw::PictureOptions options) {
  SessionOptions& session = flags.model.session;
  std::optional<ProfileFile> profile;
  if (!flags.profile.empty()) profile = read_profile(flags.profile, session);
  const Variant variant = make_variant(model, session, "", flags.phase);
  options.may_fold = steps_alike(variant.plan());
  NoteOptions notes{.bytes_heat = !flags.heat.empty()};
  if (profile)
    notes.profile = &profile_of(*profile, flags.profile, variant.graph(), variant.plan());
  return draw_one(variant, options, notes);
}

// Draws the plan as a flow graph.
Drawn draw_plan(const Model& model, const Flags& flags, const draw::PictureOptions& options) {
  const Variant variant = make_variant(model, flags.model.session, "", flags.phase);
  return {picture_of_pieces(variant.graph(), variant.plan(),
                            {.title = options.title,
                             .fold = options.fold != draw::Fold::none,
                             .first_layer = options.first_layer,
                             .last_layer = options.last_layer}),
          {}};
}

void write_picture(const std::string& path, const Drawn& drawn) {
  const std::string text = draw::to_dot(drawn.picture);
  if (path.empty() || path == "-") {
    std::cout << text;
    return;
  }
  const std::string extension = std::filesystem::path(path).extension().string();
  const bool as_text = extension.empty() || extension == ".dot" || extension == ".gv";
  const bool as_page = extension == ".html" || extension == ".htm";
  const std::string picture =
      as_text   ? text
      : as_page ? viewer_html(drawn.picture.title, draw::render(text, "svg"), drawn.facts)
                : draw::render(text, extension.substr(1));
  OutputFile file(path);
  file.write(picture);
  file.commit();
}

// Flags for the subject of the picture, and its parts.
void add_picture_flags(cli::App& app, Flags& flags) {
  app.add_option("-o,--output", flags.out,
                 "FILE.dot, FILE.html (interactive), or FILE.svg, FILE.png, ... drawn by "
                 "Graphviz; default: DOT on stdout")
      .type_name("FILE");
  app.add_option("--layers", flags.layers, "show only these layers, for example 0-1")
      .type_name("A-B");
  app.add_option("--fold", flags.fold,
                 "layers to draw as one: alike (default), neighbours (adjacent and alike), none")
      .expected(0, 1)
      .default_str("alike")
      .one_of({"alike", "neighbours", "none"});
  app.add_flag_callback(
      "--no-fold", [&flags] { flags.fold = "none"; }, "the same as --fold none");
  app.add_option(
         "--phase", flags.phase,
         "which plan: decode (one token), prefill (the widest), 'prefill 8', encode (of a model "
         "with an encoder), ...")
      .type_name("NAME");
}

// Flags for showing something else than the plain graph.
void add_view_flags(cli::App& app, Flags& flags) {
  const cli::Option heat =
      app.add_option("--heat", flags.heat, "colour ops by the bytes that they move")
          .one_of({"bytes"});
  const cli::Option profile =
      app.add_option("--profile", flags.profile,
                     "colour ops by their share of the time in a file of weft profile (-o FILE or "
                     "--json), from any machine; the border's width shows the bytes moved")
          .type_name("FILE")
          .excludes(heat);
  const cli::Option diff =
      app.add_option(
             "--diff", flags.diff,
             "compare two variants: default, as-built (no passes), "
             "or a list such as no-pass=fuse_qkv,backend=reference,threads=1,weights=mapped")
          .expected(2)
          .type_name("A B")
          .excludes(heat)
          .excludes(profile);
  app.add_flag("--plan", flags.plan,
               "draw the plan as a flow graph: the work of each lane between two joins")
      .excludes(heat)
      .excludes(profile)
      .excludes(diff);
  app.add_flag("--passes", flags.passes,
               "list the graph passes with the number of ops after each, without a picture");
}

void add_flags(cli::App& app, Flags& flags) {
  cli::add_model_flags(app, flags.model);
  cli::add_rank_flag(app, flags.model);
  add_picture_flags(app, flags);
  add_view_flags(app, flags);
  app.footer(
      "Examples:\n"
      "  weft dot -m model.gguf -o model.html\n"
      "  weft dot -m model.gguf --layers 0 --no-pass all -o as_built.svg\n"
      "  weft profile -m model.gguf -p 0 -o trace.json\n"
      "  weft dot -m model.gguf --profile trace.json -o where_time_goes.svg\n"
      "  weft profile -m model.gguf --json > elsewhere.json\n"
      "  weft dot -m model.gguf --profile elsewhere.json -o where_time_went.svg\n"
      "  weft dot -m model.gguf --diff no-pass=fuse_qkv default -o what_fuse_qkv_does.svg\n"
      "  weft dot -m model.gguf --plan --layers 0 -o plan.svg\n"
      "  weft dot -m model.gguf --passes");
}

int dot(int argc, char** argv) {
  cli::App app("Draws the graph of a model. Identical layers are drawn once.", "weft dot");
  Flags flags;
  add_flags(app, flags);
  if (const auto code = parse_flags(app, argc, argv)) return *code;

  if (!flags.diff.empty() && flags.diff.size() != 2)
    fail<cli::UsageError>("--diff takes two variants, got {}", flags.diff.size());

  cli::use_lone_rank(flags.model);
  const auto model = cli::load_inspected_model(flags.model);
  if (flags.passes) {
    print_passes(*model, flags);
    return 0;
  }
  draw::PictureOptions options{.title = fmt::format("{}, {}", model->facts().title(), flags.phase),
                               .fold = flags.fold == "none"         ? draw::Fold::none
                                       : flags.fold == "neighbours" ? draw::Fold::neighbours
                                                                    : draw::Fold::alike};
  read_layers(flags.layers, model->facts().n_layers, options.first_layer, options.last_layer);
  write_picture(flags.out, flags.plan           ? draw_plan(*model, flags, options)
                           : flags.diff.empty() ? draw_graph(*model, flags, options)
                                                : draw_difference(*model, flags, options));
  return 0;
}

}  // namespace

const Subcommand kDot{"dot", "draws the graph, and what each pass changes", dot};

}  // namespace weft::tools
