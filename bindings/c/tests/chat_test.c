#include <stdlib.h>

#include "chats.h"

static void turns_become_prompts(void) {
  static const char begin[] = "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n";
  weft_error* error = NULL;
  weft_chat_turn turn = new_turn("[{\"role\": \"user\", \"content\": \"Hi\"}]");
  weft_text text = render(&turn);
  CHECK(strcmp(text.data, begin) == 0);
  weft_text_free(&text);
  turn.without_generation_prompt = 1;
  text = render(&turn);
  CHECK(strcmp(text.data, "<|im_start|>user\nHi<|im_end|>\n") == 0);
  weft_text_free(&text);
  turn.without_generation_prompt = 0;
  turn.messages =
      "[{\"role\": \"user\", \"content\": \"Hi\"}, {\"role\": \"assistant\", \"content\": \"Ye\"}]";
  text = render(&turn);
  CHECK(strcmp(text.data + text.size - 2, "Ye") == 0); /* to be continued */
  weft_text_free(&text);
  turn.answer_final_message = 1;
  text = render(&turn);
  CHECK(strstr(text.data, "Ye<|im_end|>\n<|im_start|>assistant\n") != NULL);
  weft_text_free(&text);
  /* The model has the same template. Any Jinja is one, and variables are those of the turn. */
  weft_chat* chat = NULL;
  turn = new_turn("[{\"role\": \"user\", \"content\": \"Hi\"}]");
  OK(weft_chat_open(stories(), NULL, &chat, &error));
  OK(weft_chat_render(chat, &turn, &text, &error));
  CHECK(strcmp(text.data, begin) == 0);
  weft_text_free(&text);
  weft_chat_free(chat);
  OK(weft_chat_open(stories(), "{{ messages[0].content }}{{ more }}", &chat, &error));
  turn = new_turn("[{\"role\": \"user\", \"content\": \"Hi\"}]");
  turn.variables = "{\"more\": 7}";
  OK(weft_chat_render(chat, &turn, &text, &error));
  CHECK(strcmp(text.data, "Hi7") == 0);
  weft_text_free(&text);
  weft_chat_free(chat);
}

static void plans_know_which_marks_are_read(void) {
  weft_error* error = NULL;
  weft_chat* chat = open_chat();
  weft_chat_plan* plan = NULL;
  weft_chat_turn turn = new_turn("[{\"role\": \"user\", \"content\": \"Hi\"}]");
  const weft_token* tokens = NULL;
  size_t n = 9;
  if (!OK(weft_chat_plan_open(chat, &turn, &plan, &error))) return;
  OK(weft_chat_plan_get_shown(plan, &tokens, &n, &error));
  CHECK(n == 0); /* no marks of this template are control tokens */
  REFUSED(WEFT_ERROR_ARGUMENT, "`n` is NULL",
          weft_chat_plan_get_shown(plan, &tokens, NULL, &error));
  weft_chat_plan_free(plan);
  weft_chat_free(chat);
}

static void plans_have_tokens_and_a_grammar(void) {
  weft_error* error = NULL;
  weft_chat* chat = open_chat();
  weft_chat_plan* plan = NULL;
  weft_grammar* grammar = (weft_grammar*)&error;
  weft_chat_turn turn = new_turn("[{\"role\": \"user\", \"content\": \"Hi\"}]");
  const weft_token* tokens = NULL;
  const char* text = NULL;
  size_t n = 0, size = 0;
  int32_t accepts = -1;
  if (!OK(weft_chat_plan_open(chat, &turn, &plan, &error))) return;
  OK(weft_chat_plan_get_tokens(plan, &tokens, &n, &error));
  OK(weft_chat_plan_get_text(plan, &text, &size, &error));
  weft_text back = {NULL, 0};
  OK(weft_detokenize(stories(), tokens, n,
                     WEFT_DETOKENIZE_SHOW_SPECIAL | WEFT_DETOKENIZE_STRIP_SPACE_PREFIX, &back,
                     &error));
  CHECK(n > 0 && size == strlen(text) && strstr(back.data, "<|im_start|>user\nHi") != NULL);
  weft_text_free(&back);
  OK(weft_chat_plan_get_grammar(plan, &grammar, &error));
  CHECK(grammar == NULL); /* any text is a reply */
  REFUSED(WEFT_ERROR_ARGUMENT, "`size` is NULL",
          weft_chat_plan_get_text(plan, &text, NULL, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "`tokens` is NULL",
          weft_chat_plan_get_tokens(plan, NULL, &n, &error));
  CHECK(weft_chat_plan_free(plan) == WEFT_SUCCESS);
  turn.constraint = "[\"yes\", \"no\"]";
  turn.constraint_kind = WEFT_GRAMMAR_CHOICE;
  OK(weft_chat_plan_open(chat, &turn, &plan, &error));
  weft_chat_free(chat); /* the plan keeps what it needs */
  OK(weft_chat_plan_get_grammar(plan, &grammar, &error));
  weft_chat_plan_free(plan);
  OK(weft_grammar_accepts(grammar, "yes", 3, &accepts, &error));
  CHECK(accepts == 1);
  OK(weft_grammar_accepts(grammar, "maybe", 5, &accepts, &error));
  CHECK(accepts == 0);
  weft_grammar_free(grammar);
  REFUSED(WEFT_ERROR_HANDLE, "the chat plan was freed",
          weft_chat_plan_get_grammar(plan, &grammar, &error));
}

#define HI "[{\"role\": \"user\", \"content\": \"Hi\"}]"
static const struct {
  const char *messages, *tools, *choice, *variables, *constraint;
  int32_t kind;
  weft_status status;
  const char* message;
} malformed[] = {
    {NULL, NULL, NULL, NULL, NULL, 0, WEFT_ERROR_ARGUMENT, "`messages` is NULL"},
    {"", NULL, NULL, NULL, NULL, 0, WEFT_ERROR_FORMAT, "messages: not JSON"},
    {"[", NULL, NULL, NULL, NULL, 0, WEFT_ERROR_FORMAT, "messages: not JSON"},
    {"[\"\xff\"]", NULL, NULL, NULL, NULL, 0, WEFT_ERROR_FORMAT, "messages: not JSON"},
    {" {\"messages\": []}", NULL, NULL, NULL, NULL, 0, WEFT_ERROR_FORMAT, "JSON array"},
    {"[7]", NULL, NULL, NULL, NULL, 0, WEFT_ERROR_FORMAT, "messages[0]"},
    {"[{\"content\": \"x\"}]", NULL, NULL, NULL, NULL, 0, WEFT_ERROR_FORMAT, "no role"},
    {"[{\"role\": \"user\", \"content\": [7]}]", NULL, NULL, NULL, NULL, 0, WEFT_ERROR_FORMAT,
     "messages[0].content must be a string"},
    {HI, "{", NULL, NULL, NULL, 0, WEFT_ERROR_FORMAT, "tools"},
    {HI, "", NULL, NULL, NULL, 0, WEFT_ERROR_FORMAT, "tools: must be a JSON array"},
    {HI, "[{\"function\": 7}]", NULL, NULL, NULL, 0, WEFT_ERROR_FORMAT, "tool"},
    {HI, NULL, NULL, "", NULL, 0, WEFT_ERROR_FORMAT, "variables"},
    {HI, "[{}]", NULL, NULL, NULL, 0, WEFT_ERROR_FORMAT, "tool"},
    {HI, tools, "other", NULL, NULL, 0, WEFT_ERROR_ARGUMENT, "tool_choice: no tool is named"},
    {HI, tools, "\xff", NULL, NULL, 0, WEFT_ERROR_FORMAT, "tool_choice: not UTF-8"},
    {HI, NULL, "required", NULL, NULL, 0, WEFT_ERROR_ARGUMENT, "tool_choice"},
    {HI, NULL, NULL, "[]", NULL, 0, WEFT_ERROR_FORMAT, "variables"},
    {HI, NULL, NULL, "{\"\xff\": 1}", NULL, 0, WEFT_ERROR_FORMAT, "variables: not JSON"},
    {HI, NULL, NULL, NULL, "{", WEFT_GRAMMAR_JSON_SCHEMA, WEFT_ERROR_ARGUMENT, "constraint:"},
    {HI, NULL, NULL, NULL, "x", WEFT_GRAMMAR_CHOICE, WEFT_ERROR_FORMAT, "constraint: not JSON"},
    {HI, NULL, NULL, NULL, "x", 9, WEFT_ERROR_ARGUMENT, "WEFT_GRAMMAR_"},
    {HI, NULL, NULL, NULL, NULL, WEFT_GRAMMAR_REGEX, WEFT_ERROR_ARGUMENT, "`constraint` is NULL"},
};

static void malformed_turns_are_refused(void) {
  weft_error* error = NULL;
  weft_chat* chat = open_chat();
  weft_chat_plan* plan = NULL;
  weft_text text = {NULL, 0};
  for (size_t i = 0; i < sizeof malformed / sizeof *malformed; ++i) {
    weft_chat_turn turn = new_turn(malformed[i].messages);
    turn.tools = malformed[i].tools;
    turn.tool_choice = malformed[i].choice;
    turn.variables = malformed[i].variables;
    turn.constraint = malformed[i].constraint;
    turn.constraint_kind = malformed[i].kind;
    REFUSED(malformed[i].status, malformed[i].message,
            weft_chat_plan_open(chat, &turn, &plan, &error));
    REFUSED(malformed[i].status, malformed[i].message,
            weft_chat_render(chat, &turn, &text, &error));
  }
  CHECK(plan == NULL && text.data == NULL);
  REFUSED(WEFT_ERROR_ARGUMENT, "`turn` is NULL", weft_chat_render(chat, NULL, &text, &error));
  weft_chat_free(chat);
}

static void templates_are_checked(void) {
  weft_error* error = NULL;
  weft_chat* chat = NULL;
  weft_model* without = NULL;
  weft_model_options options;
  weft_model_options_init(&options, sizeof options);
  options.vocabulary_only = 1;
  options.overrides = "tokenizer.chat_template=str:";
  OK(weft_model_open(model_path(), &options, &without, &error));
  REFUSED(WEFT_ERROR_UNSUPPORTED, "no chat template", weft_chat_open(without, NULL, &chat, &error));
  weft_model_free(without);
  REFUSED(WEFT_ERROR_ARGUMENT, "unknown chat template 'chatmll'",
          weft_chat_open(stories(), "chatmll", &chat, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "", weft_chat_open(stories(), "", &chat, &error));
  REFUSED(WEFT_ERROR_FORMAT, "not UTF-8", weft_chat_open(stories(), "\xff", &chat, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "line 1", weft_chat_open(stories(), "{{ x", &chat, &error));
  CHECK(weft_chat_open(stories(), "{{ '\xff' }}", &chat, NULL) != WEFT_SUCCESS);
  REFUSED(WEFT_ERROR_ARGUMENT, "`chat` is NULL", weft_chat_open(stories(), "chatml", NULL, &error));
  CHECK(chat == NULL);
  /* A template may refuse messages. */
  OK(weft_chat_open(stories(), "{{ raise_exception('never') }}", &chat, &error));
  weft_chat_turn turn = new_turn("[{\"role\": \"user\", \"content\": \"Hi\"}]");
  weft_text text = {NULL, 0};
  REFUSED(WEFT_ERROR_ARGUMENT, "never", weft_chat_render(chat, &turn, &text, &error));
  weft_chat_free(chat);
  REFUSED(WEFT_ERROR_HANDLE, "the chat was freed", weft_chat_render(chat, &turn, &text, &error));
}

static void generations_reply_to_chats(void) {
  weft_error* error = NULL;
  weft_session* session = new_session(1);
  weft_chat* chat = NULL;
  weft_chat_plan* plan = NULL;
  weft_generation* generation = NULL;
  weft_reply* reply = NULL;
  weft_chat_turn turn;
  weft_text message = {NULL, 0};
  weft_generation_event event = {.struct_size = sizeof event};
  weft_chat_turn_init(&turn, sizeof turn);
  turn.messages = "[{\"role\": \"user\", \"content\": \"A number?\"}]";
  turn.constraint = "[0-9]{3}";
  turn.constraint_kind = WEFT_GRAMMAR_REGEX;
  OK(weft_chat_open(stories(), "chatml", &chat, &error));
  OK(weft_chat_plan_open(chat, &turn, &plan, &error));
  OK(weft_generation_open(session, 0, NULL, &generation, &error));
  OK(weft_reply_open(plan, &reply, &error));
  OK(weft_generation_begin_chat(generation, plan, 0, &error));
  for (int i = 0; i < 20 && event.stop == WEFT_STOP_NONE; ++i) {
    if (!OK(weft_generation_next(generation, &event, &error))) break;
    OK(weft_reply_push(reply, event.text, event.text_size, NULL, NULL, &error));
  }
  CHECK(event.stop == WEFT_STOP_COMPLETE || event.stop == WEFT_STOP_END_OF_TEXT);
  OK(weft_reply_finish(reply, NULL, NULL, &error));
  if (OK(weft_reply_message_json(reply, &message, &error))) {
    const char* digits = strpbrk(message.data, "0123456789");
    CHECK(digits != NULL && strspn(digits, "0123456789") == 3);
  }
  weft_text_free(&message);
  weft_reply_free(reply);
  weft_chat_plan_free(plan);
  weft_chat_free(chat);
  weft_generation_free(generation);
  weft_session_free(session);
}

static void templates_are_rendered_without_a_model(void) {
  weft_error* error = NULL;
  weft_text text = {NULL, 0};
  const char* jinja =
      "{{ bos_token }}{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}";
  const char* variables =
      "{\"bos_token\": \"<s>\", \"messages\": [{\"role\": \"user\", \"content\": \"Hi\"}]}";
  if (OK(weft_template_render(jinja, variables, &text, &error)))
    CHECK(strcmp(text.data, "<s>[user]Hi") == 0);
  weft_text_free(&text);
  if (OK(weft_template_render("chatml", variables, &text, &error)))
    CHECK(strstr(text.data, "<|im_start|>user\nHi<|im_end|>") != NULL);
  weft_text_free(&text);
  REFUSED(WEFT_ERROR_ARGUMENT, "line 1", weft_template_render("{{ 1 / }}", "{}", &text, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "no-such", weft_template_render("no-such", "{}", &text, &error));
  REFUSED(WEFT_ERROR_FORMAT, "", weft_template_render(jinja, "[", &text, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "`variables` is NULL",
          weft_template_render(jinja, NULL, &text, &error));
  REFUSED(WEFT_ERROR_ARGUMENT, "`chat_template` is NULL",
          weft_template_render(NULL, "{}", &text, &error));
}

static void built_in_templates_have_names(void) {
  weft_error* error = NULL;
  weft_text names = {NULL, 0};
  if (OK(weft_chat_templates_json(&names, &error)))
    CHECK(strstr(names.data, "\"chatml\"") != NULL && names.data[0] == '[');
  weft_text_free(&names);
}

const test_case chat_tests[] = {
    {"turns become prompts", turns_become_prompts},
    {"plans know which marks are read", plans_know_which_marks_are_read},
    {"plans have tokens and a grammar", plans_have_tokens_and_a_grammar},
    {"malformed turns are refused", malformed_turns_are_refused},
    {"templates are checked", templates_are_checked},
    {"templates are rendered without a model", templates_are_rendered_without_a_model},
    {"generations reply to chats", generations_reply_to_chats},
    {"built-in templates have names", built_in_templates_have_names},
    {NULL, NULL}};
