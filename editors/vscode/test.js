// The TextMate grammar loads as the editor loads it, and the server answers the library that the editor talks with:
// `WARPLOCK=../../target/debug/warplock npm test`.

const assert = require('node:assert');
const childProcess = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const test = require('node:test');
const rpc = require('vscode-jsonrpc/node');
const oniguruma = require('vscode-oniguruma');
const textmate = require('vscode-textmate');

const here = (name) => path.join(__dirname, name);

async function grammar() {
  const wasm = fs.readFileSync(require.resolve('vscode-oniguruma/release/onig.wasm'));
  await oniguruma.loadWASM(wasm.buffer.slice(wasm.byteOffset, wasm.byteOffset + wasm.byteLength));
  const registry = new textmate.Registry({
    onigLib: Promise.resolve({
      createOnigScanner: (patterns) => new oniguruma.OnigScanner(patterns),
      createOnigString: (text) => new oniguruma.OnigString(text),
    }),
    loadGrammar: async () => {
      const file = here('syntaxes/wlk.tmLanguage.json');
      return textmate.parseRawGrammar(fs.readFileSync(file, 'utf8'), file);
    },
  });
  return registry.loadGrammar('source.wlk');
}

/// The last scope of each word of a line.
function scopes(grammar, line) {
  const found = {};
  for (const token of grammar.tokenizeLine(line, textmate.INITIAL).tokens) {
    const text = line.slice(token.startIndex, token.endIndex).trim();
    found[text] = token.scopes.at(-1);
  }
  return found;
}

test('words of a line have their scopes', async () => {
  const found = scopes(await grammar(), '    wait.acquire.gpu ready[p.index] >= count + 1 // wait');
  assert.strictEqual(found.wait, 'support.function.wlk');
  assert.strictEqual(found.acquire, 'storage.modifier.wlk');
  assert.strictEqual(found.ready, 'variable.other.wlk');
  assert.strictEqual(found.index, 'variable.other.property.wlk');
  assert.strictEqual(found['1'], 'constant.numeric.wlk');
  assert.strictEqual(found['// wait'], 'comment.line.double-slash.wlk');
});

test('declared names are marked', async () => {
  const rules = await grammar();
  assert.strictEqual(scopes(rules, 'grid cta[n in 0..N] {').cta, 'entity.name.type.wlk');
  assert.strictEqual(scopes(rules, 'expect race: proved').proved, 'constant.language.wlk');
});

test('the manifest names files that exist', () => {
  const manifest = JSON.parse(fs.readFileSync(here('package.json'), 'utf8'));
  const { languages, grammars, snippets } = manifest.contributes;
  const files = [manifest.main, languages[0].configuration, grammars[0].path, snippets[0].path];
  for (const file of files) {
    assert.ok(fs.existsSync(here(file)), file);
  }
  JSON.parse(fs.readFileSync(here('snippets/wlk.json'), 'utf8'));
  JSON.parse(fs.readFileSync(here('language-configuration.json'), 'utf8'));
});

const program = process.env.WARPLOCK;

test('the server answers the library of the editor', { skip: !program }, async () => {
  const server = childProcess.spawn(program, ['lsp'], { stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = new Promise((resolve) => server.on('exit', resolve));
  const connection = rpc.createMessageConnection(
    new rpc.StreamMessageReader(server.stdout),
    new rpc.StreamMessageWriter(server.stdin),
  );
  const published = [];
  connection.onNotification('textDocument/publishDiagnostics', (it) => published.push(it));
  connection.listen();
  const { capabilities } = await connection.sendRequest('initialize', {
    processId: process.pid,
    rootUri: null,
    capabilities: {},
  });
  assert.ok(capabilities.codeLensProvider);
  const file = path.join(__dirname, '../../encodings/block_sparse/lock_rank_descending_launch.wlk');
  const textDocument = { uri: `file://${file}`, languageId: 'wlk', version: 1 };
  textDocument.text = fs.readFileSync(file, 'utf8');
  await connection.sendNotification('initialized', {});
  await connection.sendNotification('textDocument/didOpen', { textDocument });
  const lenses = await connection.sendRequest('textDocument/codeLens', { textDocument });
  const { command } = lenses[0];
  const answer = await connection.sendRequest('workspace/executeCommand', command);
  assert.strictEqual(answer.findings[0].verdict, 'REFUTED');
  assert.match(published.at(-1).diagnostics[0].message, /^deadlock: REFUTED at N = 2/);
  await connection.sendRequest('shutdown');
  await connection.sendNotification('exit');
  assert.strictEqual(await ended, 0);
  connection.dispose();
});
