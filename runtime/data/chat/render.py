"""Renders conversations with a tokenizer's chat template, as transformers' apply_chat_template does.

d9d-node starts this script in a process of its own and talks to it over one socket, in lines of JSON. The first line has the
settings of all conversations: templates (name -> text), choice (the name of the one to take; null: "default", or "tool_use" for rows
with tools), variables (special tokens and arguments), tools (of rows that have none), date (YYYY-MM-DD for strftime_now,
or null), today (whether a null date means today), seconds and bytes_max (limits of one conversation), memory_bytes.
The answer: version, names (what the template reads), whole (whether it writes fields of messages that it does not name), marks
(whether it has {% generation %}), or problem.

Each further line is a conversation: messages, answers (indices of the messages that the model is to write), trained (those
answers that count in the loss), prompt (whether the text ends with the header of a next answer), marked (whether
{% generation %} marks answers), tools, documents, arguments. The reply is text and parts (bytes [begin, end) of what counts),
or problem. The script ends when its input ends.
"""

import sys

sys.path[:] = [path for path in sys.path if path]  # do not import modules from the job's folder

import datetime
import json
import os
import resource
import signal

# Private-use characters that mark the begin and the end of a {% generation %} block while a text is rendered.
BEGIN, END = "\U000f5a31", "\U000f5a32"
# Replaces an answer to find its place; a private-use character, so that no real answer begins with it.
OTHER = "\U000f5a33"
UNNAMED = "d9d_field_that_no_template_names"
REASONING = ("reasoning_content", "thinking", "reasoning")


class Refused(Exception):
    pass


class Unanswered(Exception):
    pass


def within(seconds, question):
    """The answer, or False where it takes longer."""
    def late(*_):
        raise Unanswered

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        return question()
    except Unanswered:
        return False
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def needs_jinja():
    global jinja2, Generation
    import jinja2
    import jinja2.ext
    import jinja2.meta
    import jinja2.nodes
    import jinja2.sandbox

    class Generation(jinja2.ext.Extension):
        tags = {"generation"}
        marking = False

        def parse(self, parser):
            line = next(parser.stream).lineno
            body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
            return jinja2.nodes.CallBlock(self.call_method("marked"), [], [], body).set_lineno(line)

        def marked(self, caller):
            return BEGIN + caller() + END if Generation.marking else caller()


def refuse(message):
    raise Refused(str(message))


def to_json(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


class Renderer:
    def __init__(self, settings):
        self.settings = settings
        self.env = jinja2.sandbox.ImmutableSandboxedEnvironment(
            trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols])
        self.env.filters["tojson"] = to_json
        self.env.globals["raise_exception"] = refuse
        self.env.globals["strftime_now"] = self.now
        choice = settings["choice"]
        texts = settings["templates"]
        self.templates = {name: self.env.from_string(text) for name, text in texts.items() if choice in (None, name)}
        self.trees = [self.env.parse(texts[name]) for name in self.templates]
        nodes = jinja2.nodes
        self.names = set()
        for tree in self.trees:
            for node in tree.find_all((nodes.Name, nodes.Getattr, nodes.Const, nodes.Keyword)):
                name = getattr(node, "attr", None) or getattr(node, "key", None) or getattr(node, "name", None)
                name = name if name is not None else getattr(node, "value", None)
                if isinstance(name, str):
                    self.names.add(name)
        # How many {% generation %} blocks the template with the most of them has.
        self.marks = max(sum(node.args == [] and getattr(node.call.node, "name", "") == "marked"
                             for node in tree.find_all(nodes.CallBlock)
                             if isinstance(node.call, nodes.Call) and isinstance(node.call.node, nodes.ExtensionAttribute))
                         for tree in self.trees) if self.trees else 0
        self.reads_lists = None  # asked for with the first content in parts, within the limits of its conversation

    def now(self, pattern):
        if self.settings["date"] is None and not self.settings["today"]:
            refuse("D9D_NO_DATE")
        date = self.settings["date"]
        return (datetime.datetime.fromisoformat(date) if date else datetime.datetime.now()).strftime(pattern)

    def can_read_lists(self):
        try:
            text = self.render({"messages": [{"role": "user", "content": [{"type": "text", "text": OTHER}]},
                                             {"role": "assistant", "content": OTHER}]}, None)
        except Exception:
            return False
        return OTHER in text and "'type'" not in text and '"type"' not in text

    def writes_whole_messages(self):
        """Whether {{ message }}, tojson or items() brings into the text what the template does not name. It is tried: on
        conversations of which a template may refuse one."""
        def message(role, **more):
            return {"role": role, UNNAMED: UNNAMED, "content": "a", **more}

        call = [{"type": "function", "id": "c1", "function": {"name": "a", "arguments": {}}}]
        talk = [message("user"), message("assistant")]
        talks = [talk, [message("system"), *talk],
                 [*talk[:1], message("assistant", tool_calls=call), message("tool", name="a"), talk[1]]]
        settings = self.settings
        self.settings = {**settings, "today": True}
        try:
            for tools in (None, []):
                for messages in talks:
                    try:
                        if UNNAMED in self.render({"messages": messages, "tools": tools}):
                            return True
                    except Unanswered:
                        return False
                    except Exception:
                        pass
        finally:
            self.settings = settings
        return False

    def template(self, tools):
        if len(self.templates) == 1:
            return next(iter(self.templates.values()))
        name = "tool_use" if tools is not None and "tool_use" in self.templates else "default"
        if name not in self.templates:
            refuse("there are several (%s) and none is called default; name one with chat_template"
                   % ", ".join(sorted(self.templates)))
        return self.templates[name]

    def render(self, row, messages=None, prompt=False, marking=False):
        tools = row.get("tools") if row.get("tools") is not None else self.settings["tools"]
        variables = {**self.settings["variables"], **(row.get("arguments") or {})}
        variables.update(messages=row["messages"] if messages is None else messages, tools=tools,
                         documents=row.get("documents"), add_generation_prompt=prompt)
        pieces, size = [], 0
        Generation.marking = marking
        try:
            for piece in self.template(tools).generate(**variables):
                pieces.append(piece)
                size += len(piece)
                if size > self.settings["bytes_max"]:
                    refuse("it makes more than %d bytes of it" % self.settings["bytes_max"])
        finally:
            Generation.marking = False
        return "".join(pieces)

    def message(self, message):
        """The message in the form in which transformers passes it to the template."""
        message = {key: value for key, value in message.items() if value is not None}
        reasoning = next((message[key] for key in REASONING if key in message), None)
        if reasoning is not None:
            message = {"thinking": reasoning, **message, "reasoning_content": reasoning}
        content = message.get("content")
        if isinstance(content, list):
            parts = [{key: value for key, value in part.items() if value is not None} for part in content]
            if self.reads_lists is None:
                self.reads_lists = self.can_read_lists()
            message["content"] = parts if self.reads_lists else "".join(part["text"] for part in parts)
        return message

    def answer(self, row):
        row["messages"] = [self.message(message) for message in row["messages"]]
        try:
            text = self.render(row, prompt=row["prompt"])
        except Exception:
            # Some templates fail if a message with tool calls has no content.
            if all("content" in message for message in row["messages"]):
                raise
            row["messages"] = [{"content": "", **message} for message in row["messages"]]
            text = self.render(row, prompt=row["prompt"])
        parts = self.parts(row, text) if row["trained"] else []
        out, at, bytes_before = [], 0, 0
        for begin, end in sorted(parts):
            place = []
            for character in (begin, end):
                bytes_before += len(text[at:character].encode())
                at = character
                place.append(bytes_before)
            out.append(place)
        return {"text": text, "parts": out}

    def parts(self, row, text):
        places = Places(self, row, text)
        if not (self.marks and row["marked"]):
            return places.of(row["trained"])
        marked = self.marked_parts(row, text)
        if row["trained"] == row["answers"]:
            return [part for part in marked if part[0] < part[1]]
        one_each = [marked[row["answers"].index(i)] for i in row["trained"]] if len(marked) == len(row["answers"]) else []
        if one_each and self.marks == 1:
            return [part for part in one_each if part[0] < part[1]]
        try:
            trained = places.of(row["trained"])
        except Refused:
            if not one_each:
                raise
            trained = one_each
        return [part for part in marked if any(part[0] < end and begin < part[1] for begin, end in trained)]

    def marked_parts(self, row, text):
        if any(mark in text for mark in (BEGIN, END)):
            refuse("its text has a character that d9d marks parts with")
        pieces, parts, depth, at = self.render(row, prompt=row["prompt"], marking=True), [], 0, 0
        plain = []
        for piece in split_at_marks(pieces):
            if piece == BEGIN:
                depth += 1
                begin = at if depth == 1 else begin
            elif piece == END:
                depth -= 1
                if depth == 0:
                    parts.append((begin, at))
            else:
                plain.append(piece)
                at += len(piece)
        if "".join(plain) != text or depth != 0:
            refuse("what its {% generation %} blocks write is changed after them, so their places are not known")
        return parts


def split_at_marks(text):
    begin = 0
    for i, character in enumerate(text):
        if character in (BEGIN, END):
            yield text[begin:i]
            yield character
            begin = i + 1
    yield text[begin:]


def shared(*texts):
    return len(os.path.commonprefix(list(texts)))


class Places:
    """Finds the answers of a conversation in its rendered text. An answer is what its text has beyond the text of the
    messages before it plus the header of an answer. Some templates write an earlier message differently once others
    follow it (without its reasoning, without the tools). Then the place is searched, and the row refused if it is not certain."""

    def __init__(self, renderer, row, text):
        self.renderer, self.row, self.text = renderer, row, text
        self.messages = row["messages"]

    def attempt(self, messages, prompt=False):
        try:
            return self.renderer.render(self.row, messages, prompt)
        except Exception:
            return None

    def until(self, i):
        return self.text if i + 1 == len(self.messages) and not self.row["prompt"] else self.attempt(self.messages[:i + 1])

    def of(self, indices):
        places = [self.plain(i) for i in indices]
        if all(places):
            return places
        found, known = {}, None
        for i in [i for i in self.row["answers"] if i <= indices[-1]]:
            found[i] = self.plain(i) or self.searched(i, known)
            if found[i] is None:
                if i in indices:
                    refuse("it is not certain where message %d, an answer, stands in its text: take a template that marks answers "
                           "with {%% generation %%} (chat_template), or loss: last_answer" % i)
                known = None
                continue
            known = (self.until(i), found[i][1])
        return [found[i] for i in indices]

    def plain(self, i):
        until, before = self.until(i), self.attempt(self.messages[:i], True)
        if until is None or before is None or not self.text.startswith(until) or not until.startswith(before):
            return None
        return len(before), len(until)

    def searched(self, i, known):
        """Renders the conversation with another answer in this one's place: the part that changes is the answer. The
        token that ends an answer is found by a text that stops after the answer."""

        def carried(text):
            """Replaces the begin of a shorter conversation's text by that of the whole text."""
            if text is None or known is None or known[0] is None or not text.startswith(known[0]):
                return text
            return self.text[:known[1]] + text[len(known[0]):]

        message = self.messages[i]
        replaced = {"role": message["role"], "content": OTHER}
        otherwise = self.attempt(self.messages[:i] + [replaced] + self.messages[i + 1:])
        if otherwise == self.text:
            return None
        before, earlier = self.attempt(self.messages[:i], True), self.attempt(self.messages[:i])
        header = self.header(before, earlier)
        plain_before = before
        before, earlier = carried(before), carried(earlier)
        others = [text for text in (self.text, otherwise) if text is not None]
        if before is not None and self.text.startswith(before):
            begin = len(before)
        elif before is not None and earlier is not None and self.text.startswith(self.open(earlier)):
            begin = shared(before, *others)
        elif otherwise is not None:
            begin = shared(*others)
        else:
            begin = None
        if i + 1 == len(self.messages) and not self.row["prompt"]:
            return (begin, len(self.text)) if begin is not None and begin < len(self.text) else None
        if message.get("tool_calls"):
            return self.called(i, plain_before, header, begin, known[1] if known else 0)
        if otherwise is None or begin is None:
            return None
        end = len(self.text) - shared(self.text[::-1], otherwise[::-1])
        for closing in self.closings(i, replaced, header):
            if self.text.startswith(closing, end) and begin < end + len(closing):
                end += len(closing)
                if before is None or not self.text.startswith(before):
                    begin = min(begin, self.verbatim(i, plain_before, end))
                return begin, end
        return None

    def verbatim(self, i, before, end):
        """The begin of the answer's own text, if exactly that text ends at `end`. It includes a blank that the template
        puts before every answer."""
        until = self.attempt(self.messages[:i + 1])
        for text in [] if until is None or before is None else [until, self.open(until)]:
            own = text[len(before):]
            if text.startswith(before) and own and self.text[:end].endswith(own):
                return end - len(own)
        return end

    def called(self, i, before, header, begin, after):
        """The place of an answer that calls tools. Their results follow it directly, so the answer cannot be replaced;
        its own text is searched instead. The whole text may lack its begin (the reasoning), or must have it only once."""
        message = self.messages[i]
        call = message["tool_calls"][-1]
        name = call.get("function", call).get("name") or ""
        bare = {key: value for key, value in message.items() if key not in REASONING}
        if before is None or not name:
            return None
        other = self.attempt(self.messages[:i] + [{"role": message["role"], "content": OTHER}])
        owns = []
        for last in (message, bare):
            shorter = self.messages[:i] + [last]
            ending, going_on = self.attempt(shorter), self.attempt(shorter, True)
            texts = [] if ending is None else [ending, self.open(ending)]
            if going_on is not None and header and going_on.endswith(header):
                texts.append(going_on[:-len(header)])
            owns += [text[shared(before, text, other if other is not None else text):] for text in texts]
        for own in owns:
            places = range(len(own)) if begin is not None else ()
            at = next((at for at in places if self.text.startswith(own[at:], begin)), len(own))
            if name in own[at:]:
                return begin, begin + len(own) - at
        for own in owns:
            if name in own and self.text.count(own, after) == 1:
                begin = self.text.index(own, after)
                return begin, begin + len(own)
        return None

    def open(self, text):
        """The text without the eos token, with which some templates end every text."""
        end = self.renderer.settings["variables"].get("eos_token") or ""
        return text[:len(text) - len(end)] if end and text.endswith(end) else text

    def header(self, before, earlier):
        """The text that the template writes before every answer."""
        if before is None or earlier is None or not before.startswith(self.open(earlier)):
            return None
        return before[len(self.open(earlier)):]

    def closings(self, i, replaced, header):
        """The texts that may follow answer i: as in a conversation that ends there, and in one that continues."""
        for prompt in (False, True):
            text = self.attempt(self.messages[:i + 1], prompt)
            other = self.attempt(self.messages[:i] + [replaced], prompt)
            if text is None or other is None or text == other:
                continue
            if not prompt:
                count = shared(text[::-1], other[::-1])
                closing = text[len(text) - count:]
                yield closing
                if self.open(closing) != closing:
                    yield self.open(closing)
            elif header and text.endswith(header) and other.endswith(header):
                text, other = text[:-len(header)], other[:-len(header)]
                yield text[len(text) - shared(text[::-1], other[::-1]):]


def reason(error):
    if isinstance(error, MemoryError):
        return "it needs more memory than it may have"
    if isinstance(error, jinja2.TemplateSyntaxError):
        return "line %d: %s" % (error.lineno, error.message)
    return " ".join(str(error).split())[:500] or type(error).__name__


def main():
    channel_in, channel_out = sys.stdin.buffer, sys.stdout.buffer

    def say(answer):
        channel_out.write(json.dumps(answer, ensure_ascii=False).encode(errors="replace") + b"\n")
        channel_out.flush()

    settings = json.loads(channel_in.readline())
    try:
        needs_jinja()
    except ImportError as error:
        return say({"missing": str(error)})
    most = resource.getrlimit(resource.RLIMIT_AS)[1]
    memory = settings["memory_bytes"] if most == resource.RLIM_INFINITY else min(settings["memory_bytes"], most)
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    seconds = settings["seconds"]
    # A template may loop for ever, and d9d-node may be dead by then: SIGALRM ends this process.
    signal.alarm(60)
    try:
        renderer = Renderer(settings)
    except Exception as error:
        return say({"problem": reason(error)})
    signal.alarm(0)
    whole = within(2, renderer.writes_whole_messages)
    say({"version": jinja2.__version__, "names": sorted(renderer.names), "whole": whole, "marks": renderer.marks > 0})
    for line in channel_in:
        signal.alarm(2 * seconds)
        try:
            answer = renderer.answer(json.loads(line))
        except Exception as error:
            answer = {"problem": reason(error)}
        signal.alarm(0)  # whoever reads may take a while
        say(answer)


main()
