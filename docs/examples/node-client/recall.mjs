// Remember a text and recall it, over gRPC, with nothing but the .proto files. Finds the local node by its directory.
// Memories lie in the space of MNEMESH_SPACE; without it in your private one, which a request that names none means.
import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { promisify } from 'node:util';
import grpc from '@grpc/grpc-js';
import protoLoader from '@grpc/proto-loader';

const dataDir = process.env.MNEMESH_DATA_DIR ?? `${process.env.XDG_DATA_HOME ?? `${homedir()}/.local/share`}/mnemesh`;
const address = JSON.parse(readFileSync(`${dataDir}/node.json`, 'utf8')).grpc;
const token = readFileSync(`${dataDir}/owner.token`, 'utf8').trim();
const space = process.env.MNEMESH_SPACE ?? '';

const protoRoot = new URL('../../../proto/', import.meta.url).pathname;
const files = ['mnemesh_proto/v1/memory.proto', 'mnemesh_proto/v1/recall.proto'];
const options = { keepCase: true, longs: Number, defaults: true, includeDirs: [protoRoot] };
const { mnemesh } = grpc.loadPackageDefinition(protoLoader.loadSync(files, options));

const headers = new grpc.Metadata();
headers.set('authorization', `Bearer ${token}`);
headers.set('x-mnemesh-agent', 'node-example');
const call = (client, method, request) => promisify(client[method].bind(client))(request, headers);

const memories = new mnemesh.v1.MemoryService(address, grpc.credentials.createInsecure());
const recalls = new mnemesh.v1.RecallService(address, grpc.credentials.createInsecure());

const text = 'The JavaScript client speaks gRPC.';
const stored = await call(memories, 'Remember', { content: text, kind: 'fact', space });
console.log(stored.action, stored.memory.id);
const found = await call(recalls, 'Recall', { query: 'what does the JavaScript client speak?', limit: 1, space });
for (const result of found.results) console.log(result.score.toFixed(2), result.content);
