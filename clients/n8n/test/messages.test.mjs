// n8n's messages survive the way into memorybase's shape and back, also those of LangChain that n8n converts.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { test } from 'node:test';

const require = createRequire(import.meta.url);
const { fromStored, toStored, withIds } = require('../dist/nodes/shared/messages.js');

const text = (value, more = {}) => ({ type: 'text', text: value, ...more });
const call = (more = {}) => ({ type: 'tool-call', toolCallId: 'c1', toolName: 'weather', input: '{"city":"Basel"}', ...more });
const result = (value, more = {}) => ({ type: 'tool-result', toolCallId: 'c1', result: value, isError: false, ...more });

/** As memorybase answers: JSON. */
const stored = (message) => JSON.parse(JSON.stringify(toStored(message)));
const andBack = (message) => fromStored(stored(message));

const MESSAGES = {
  'a question': { role: 'user', content: [text('Where is my order?')] },
  'an empty text': { role: 'assistant', content: [text('')] },
  'several texts': { role: 'user', content: [text('a'), text('b')] },
  'a name': { role: 'user', name: 'anna', content: [text('a')] },
  'a tool call beside a text': { role: 'assistant', content: [text('I look.'), call()] },
  'a tool call alone': { role: 'assistant', content: [call(), call({ toolCallId: 'c2' })] },
  'a tool call without an id': { role: 'assistant', content: [call({ toolCallId: undefined })] },
  'a tool call before a text': { role: 'assistant', content: [call(), text('I look.')] },
  'a call with data of the provider': { role: 'assistant', content: [call({ providerMetadata: { signature: 'x' } })] },
  'a text with data of the provider': { role: 'assistant', content: [text('a', { providerMetadata: { n: 1 } })] },
  'a result': { role: 'tool', name: 'weather', content: [result('12 degrees')] },
  'a failed result': { role: 'tool', content: [result('no such city', { isError: true })] },
  'a result in JSON': { role: 'tool', content: [result({ degrees: 12, hours: [1, null] })] },
  'two results in one message': { role: 'tool', content: [result('a'), result('b', { toolCallId: 'c2' })] },
  'a result among an answer': { role: 'assistant', content: [text('a'), result('b'), text('c')] },
  'reasoning': { role: 'assistant', content: [{ type: 'reasoning', text: 'Hm.' }, text('Yes.')] },
  'a citation': { role: 'assistant', content: [text('a'), { type: 'citation', url: 'http://x', startIndex: 0 }] },
  'a file in base64': { role: 'user', content: [text('a'), { type: 'file', mediaType: 'image/png', data: 'aGk=' }] },
  'a file in bytes': { role: 'user', content: [{ type: 'file', data: new Uint8Array([0, 255]) }] },
  'a block of a provider': { role: 'assistant', content: [{ type: 'provider', value: { any: ['thing'] } }] },
  'nothing': { role: 'assistant', content: [] },
  'a system message': { role: 'system', content: [text('Be brief.')] },
};

for (const [name, message] of Object.entries(MESSAGES)) {
  test(`${name} comes back as it was`, () => {
    const plain = (value) => JSON.parse(JSON.stringify(value)); // no undefined fields
    const back = andBack(message);
    assert.deepEqual(plain(back), plain(message));
    if (message.content[0]?.data instanceof Uint8Array) assert.deepEqual(back.content[0].data, message.content[0].data);
  });
}

test('tool calls and results are stored in the shape of OpenAI', () => {
  assert.deepEqual(stored({ role: 'assistant', content: [call()] }), {
    role: 'assistant',
    content: null,
    tool_calls: [{ id: 'c1', type: 'function', function: { name: 'weather', arguments: '{"city":"Basel"}' } }],
  });
  assert.deepEqual(stored({ role: 'tool', name: 'weather', content: [result('12')] }), {
    role: 'tool',
    content: '12',
    tool_call_id: 'c1',
    name: 'weather',
  });
});

test('a text is stored once, so that an edit of it is complete', () => {
  const message = stored({ role: 'assistant', content: [{ type: 'reasoning', text: 'Hm.' }, text('secret')] });
  assert.equal(JSON.stringify(message).split('secret').length - 1, 1);
  message.content = 'public';
  assert.deepEqual(fromStored(message).content, [{ type: 'reasoning', text: 'Hm.' }, text('public')]);
});

test('a text that an edit adds or removes is added or removed', () => {
  const message = stored({ role: 'user', content: [text('a', { providerMetadata: { n: 1 } }), text('b')] });
  assert.deepEqual(fromStored({ ...message, content: 'a' }).content, [text('a', { providerMetadata: { n: 1 } })]);
  const three = ['a', 'b', 'c'].map((each) => text(each));
  assert.deepEqual(fromStored({ ...message, content: three }).content.at(-1), text('c'));
});

test('messages of other clients are read: LangChain calls, image parts, no name', () => {
  const read = fromStored({
    role: 'assistant',
    content: [text('a'), { type: 'image_url', image_url: { url: 'http://x' } }],
    tool_calls: [{ name: 'weather', args: { city: 'Basel' } }],
    metadata: {},
    name: null,
    external_id: 'm-1',
  });
  const expected = [text('a'), { type: 'tool-call', toolName: 'weather', input: '{"city":"Basel"}' }];
  assert.deepEqual(read, { role: 'assistant', content: expected, id: 'm-1' });
});

test('characters that memorybase cannot store are replaced', () => {
  const bad = 'a\0b\uD800c\uDC00d\u{1F600}';
  assert.equal(stored({ role: 'user', content: [text(bad)] }).content, 'a\uFFFDb\uFFFDc\uFFFDd\u{1F600}');
});

test('the id that a message brings comes back, whatever it is stored under', () => {
  const message = withIds(stored({ role: 'user', content: [text('a')] }), 'n8n-1', 'msg_1');
  assert.equal(message.id, 'n8n-1');
  assert.equal(fromStored({ ...message, external_id: 'n8n-1' }).id, 'msg_1');
});
