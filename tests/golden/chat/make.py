"""Token ids and loss masks of conversations, as transformers' apply_chat_template gives them: expect.json.

Run: python make.py   (needs transformers of the version in origin.md)

The templates are ours. They mark what the model says with {% generation %}, which gives the masks; each is a case as it is,
and a case without the marks (`plain`), whose ids must be the same and whose masks have to be found without them.
"""
import copy
import json
import os
import pathlib
import re

os.environ["TRANSFORMERS_VERBOSITY"] = "error"
import transformers

HERE = pathlib.Path(__file__).parent
TOOLS = [{"type": "function", "function": {"name": "weather", "description": "The <b>weather</b> & more",
                                           "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}}]
CALL = [{"type": "function", "id": "c1", "function": {"name": "weather", "arguments": {"place": "Köln", "day": 2}}}]


def user(content):
    return {"role": "user", "content": content}


def says(content, **more):
    return {"role": "assistant", "content": content, **more}


TALKS = [
    {"messages": [user("What is 7 + 5?"), says("It is twelve.")]},
    {"messages": [{"role": "system", "content": "Be kind."}, user("And  then?"), says("And so on."), user("\n\nMore?\n"),
                  says(" the énd\n\n")]},
    {"messages": [user("日本語?"), says("yes 😀"), user("<|im_end|> in a text"), says("")]},
]
RICH = [
    {"messages": [user("Rain?"), says("", tool_calls=CALL), {"role": "tool", "name": "weather", "content": "dry"},
                  says("No rain.")], "tools": TOOLS},
    {"messages": [user("Rain?"), says(None, tool_calls=CALL), {"role": "tool", "name": "weather", "content": "dry"},
                  says("No rain.")], "tools": TOOLS},
    {"messages": [user("a"), says("b", reasoning_content="hm"), user("c"), says("d", reasoning_content="hmm")]},
    {"messages": [user("a"), says("", tool_calls=CALL, thinking="must ask"), {"role": "tool", "content": "dry"},
                  says("dry", thinking="fine"), user("c"), says("d", thinking="so")], "tools": TOOLS},
    {"messages": [user([{"type": "text", "text": "in "}, {"type": "text", "text": "parts"}]), says("good")]},
]
# Keys in another order than ours; a field that the template does not name; a call without a text.
ORDERED = [
    {"messages": [{"content": "Rain?", "role": "user"}, {"tool_calls": CALL, "role": "assistant", "content": ""},
                  {"role": "tool", "name": "weather", "content": "dry"}, {"content": "No rain.", "role": "assistant"}]},
    {"messages": [{"name": "Ann", "content": "a", "role": "user"},
                  {"content": "b", "thinking": "hm", "role": "assistant", "n": 1.5}]},
]
CASES = [
    {"template": "turns", "tokenizer": "qwen", "special": {"eos_token": "<|im_end|>"}, "arguments": {}, "rows": TALKS + RICH},
    {"template": "turns", "tokenizer": "gemma", "special": {}, "arguments": {}, "rows": TALKS},
    {"template": "inst", "tokenizer": "llama", "special": {"bos_token": "<s>", "eos_token": "</s>"}, "arguments": {},
     "rows": TALKS},
    {"template": "inst", "tokenizer": "prepend", "special": {"bos_token": "<s>", "eos_token": "</s>"}, "arguments": {},
     "rows": TALKS},
    {"template": "inst", "tokenizer": "first", "special": {"bos_token": "<s>", "eos_token": "</s>"}, "arguments": {},
     "rows": TALKS},
    {"template": "dated", "tokenizer": "qwen", "special": {"bos_token": "<|endoftext|>", "eos_token": "<|endoftext|>"},
     "arguments": {"date_string": "26 Jul 2024"}, "rows": TALKS},
    {"template": "whole", "tokenizer": "qwen", "special": {"eos_token": "<|im_end|>"}, "arguments": {},
     "rows": TALKS[:2] + ORDERED},
]


def without_marks(template):
    return re.sub(r"\{%-?\s*(end)?generation\s*-?%\}", "", template)


def rendered(case, template):
    path = HERE.parent / "tokenizer" / f"{case['tokenizer']}.json"
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_file=str(path), **case["special"])
    rows = []
    for row in case["rows"]:
        more = {**case["arguments"], **({"tools": row["tools"]} if "tools" in row else {})}
        made = tokenizer.apply_chat_template(copy.deepcopy(row["messages"]), chat_template=template, return_dict=True,
                                             return_assistant_tokens_mask=True, **more)
        prompt = tokenizer.apply_chat_template(copy.deepcopy(row["messages"][:-1]), chat_template=template, tokenize=False,
                                               add_generation_prompt=True, **more)
        rows.append({"row": row, "ids": made["input_ids"], "counted": made["assistant_masks"], "prompt": prompt})
    return rows


ROLES = {"user": {"prefix": "<s>[INST] ", "suffix": " [/INST]\n"}, "assistant": {"prefix": "", "suffix": "</s>"}}
SPOKEN = [[user("What then?"), says("And so on.")], [user("a"), says(" b"), user("c"), says("\nAnd")]]


def marked(name, messages=None, pair=None):
    """A text in parts, encoded as a whole: what the mark in front of a text shall not change."""
    import tokenizers

    tokenizer = tokenizers.Tokenizer.from_file(str(HERE.parent / "tokenizer" / f"{name}.json"))
    text, counted = "", []
    if messages:
        for message in messages:
            text += ROLES[message["role"]]["prefix"]
            begin = len(text)
            text += message["content"] + ROLES[message["role"]]["suffix"]
            counted += [(begin, len(text))] if message["role"] == "assistant" else []
    else:
        text, counted = "".join(pair), [(len(pair[0]), len(pair[0]) + len(pair[1]))]
    encoding = tokenizer.encode(text, add_special_tokens=False)
    row = {"messages": messages} if messages else {"prompt": pair[0], "completion": pair[1]}
    return {"tokenizer": name, "row": row, "ids": encoding.ids,
            "counted": [int(any(b < end and begin < e for b, e in counted)) for begin, end in encoding.offsets]}


def write(name, out):
    lines = ",\n".join(json.dumps(case, ensure_ascii=False, separators=(",", ":")) for case in out)
    (HERE / name).write_text("[\n" + lines + "\n]\n")


if __name__ == "__main__":
    out = []
    for case in CASES:
        with_marks = (HERE / f"{case['template']}.jinja").read_text()
        plain = without_marks(with_marks)
        rows = rendered(case, with_marks)
        for row, other in zip(rows, rendered(case, plain)):
            assert row["ids"] == other["ids"] and row["prompt"] == other["prompt"], row
        out.append({**case, "text": with_marks, "plain": plain, "rows": rows})
    write("expect.json", out)
    write("expect.markers.json", [marked(name, talk) for name in ("prepend", "llama") for talk in SPOKEN]
          + [marked(name, pair=pair) for name in ("prepend", "llama") for pair in (("the house of\n", "And the king"), ("of ", "the"))])
