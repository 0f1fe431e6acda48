// A stranger's client: loads the .proto files, remembers, recalls, gets, exports and reads rich errors.
// Usage: node client.mjs HOST:PORT TOKEN PROTO_ROOT GOOGLEAPIS_ROOT. Exits 0 when every check holds.

import assert from 'node:assert/strict';
import { promisify } from 'node:util';
import grpc from '@grpc/grpc-js';
import protoLoader from '@grpc/proto-loader';

const [address, token, protoRoot, googleapisRoot] = process.argv.slice(2);
const options = { keepCase: true, longs: Number, defaults: true, oneofs: true, includeDirs: [protoRoot, googleapisRoot] };
const load = (...files) => grpc.loadPackageDefinition(protoLoader.loadSync(files, options));

const { mnemesh } = load('mnemesh_proto/v1/memory.proto', 'mnemesh_proto/v1/recall.proto', 'mnemesh_proto/v1/admin.proto');
const rpc = protoLoader.loadSync(['google/rpc/status.proto', 'google/rpc/error_details.proto'], options);
const credentials = grpc.credentials.createInsecure();
const memories = new mnemesh.v1.MemoryService(address, credentials);
const recalls = new mnemesh.v1.RecallService(address, credentials);
const admin = new mnemesh.v1.AdminService(address, credentials);

function metadata(bearer = token) {
  const headers = new grpc.Metadata();
  if (bearer) headers.set('authorization', `Bearer ${bearer}`);
  headers.set('x-mnemesh-agent', 'node-test');
  return headers;
}

function call(client, method, request, headers = metadata()) {
  const deadline = Date.now() + 10_000;
  return promisify(client[method].bind(client))(request, headers, { deadline });
}

async function refusal(promise) {
  const error = await promise.then(() => assert.fail('was not refused'), (caught) => caught);
  const [bytes] = error.metadata.get('grpc-status-details-bin');
  const status = rpc['google.rpc.Status'].deserialize(bytes);
  const details = {};
  for (const any of status.details) {
    const name = any.type_url.split('/').pop();
    details[name.split('.').pop()] = rpc[name].deserialize(any.value);
  }
  assert.equal(status.code, error.code);
  return { code: grpc.status[error.code], details };
}

const text = `Payments retry three times, said Node at ${Date.now()}: grüße 🐙`;
const stored = await call(memories, 'Remember', { content: text, kind: 'decision', tags: ['payments', 'retry'] });
assert.equal(stored.action, 'ADD');
assert.equal(stored.memory.by, 'owner/node-test');
assert.deepEqual(stored.memory.tags, ['payments', 'retry']);

const again = await call(memories, 'Remember', { content: text });
assert.equal(again.action, 'NOOP');
assert.equal(again.memory.id, stored.memory.id);

const found = await call(recalls, 'Recall', { query: 'how often do Payments retry', limit: 3 });
assert.equal(found.results[0].id, stored.memory.id);
assert.equal(found.results[0].content, text);
assert.ok(found.results[0].score > 0 && found.results[0].score <= 1);

const got = await call(memories, 'Get', { ids: [stored.memory.id] });
assert.equal(got.memory.content, text);

const exported = [];
for await (const item of memories.Export({}, metadata())) exported.push(item.memory.id);
assert.ok(exported.includes(stored.memory.id));

const empty = await refusal(call(memories, 'Remember', { content: '' }));
assert.equal(empty.code, 'INVALID_ARGUMENT');
assert.equal(empty.details.BadRequest.field_violations[0].field, 'content');
assert.equal(empty.details.ErrorInfo.domain, 'mnemesh');

const missing = await refusal(call(memories, 'Get', { ids: ['no-such-memory'] }));
assert.equal(missing.code, 'NOT_FOUND');

for (const bearer of ['', 'wrong']) {
  const stranger = await refusal(call(admin, 'Whoami', {}, metadata(bearer)));
  assert.equal(stranger.code, 'UNAUTHENTICATED');
}
const me = await call(admin, 'Whoami', {});
assert.equal(me.agent, 'owner/node-test');

const forgotten = await call(memories, 'Forget', { id: stored.memory.id });
assert.equal(forgotten.action, 'FORGET');
console.log(`ok: ${exported.length} exported, ${found.results.length} recalled`);
for (const client of [memories, recalls, admin]) client.close();
