// Starts `warplock lsp` and connects it to the editor. Everything else is in the program.

const vscode = require('vscode');
const { LanguageClient, TransportKind } = require('vscode-languageclient/node');

let client;

function start() {
  const settings = vscode.workspace.getConfiguration('warplock');
  const server = {
    command: settings.get('path'),
    args: ['lsp', '--timeout', String(settings.get('timeout'))],
    transport: TransportKind.stdio,
  };
  client = new LanguageClient('warplock', 'Warplock', server, {
    documentSelector: [{ language: 'wlk' }],
  });
  return client.start().catch((error) => {
    vscode.window.showErrorMessage(
      `Warplock: cannot start \`${server.command} lsp\`: ${error.message}. Set warplock.path to the program.`,
    );
  });
}

async function stop() {
  const running = client;
  client = undefined;
  if (running && running.needsStop()) {
    await running.stop();
  }
}

async function restart() {
  await stop();
  await start();
}

function activate(context) {
  context.subscriptions.push(
    vscode.commands.registerCommand('warplock.restart', restart),
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (event.affectsConfiguration('warplock')) {
        return restart();
      }
    }),
  );
  return start();
}

module.exports = { activate, deactivate: stop };
