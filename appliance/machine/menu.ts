import { askMachine } from './ask.ts'
import { runMenu } from './menu/choices.ts'
import { Back, createTerminal, Gone } from './menu/terminal.ts'
import { machinePorts } from './ports.ts'

// on a screen the journal's lines go to the journal
const journal = (line: string): void => void process.stderr.write(`<6>${line.replaceAll('\n', ' ')}\n`)

const terminal = createTerminal(process.stdin, process.stdout)
try {
  await runMenu({ terminal, ports: { ...machinePorts(), log: journal }, ask: askMachine })
} catch (error) {
  if (!(error instanceof Back || error instanceof Gone)) {
    terminal.say(`\n${error instanceof Error ? error.message : String(error)}`)
    process.exitCode = 1
  }
} finally {
  terminal.close()
}
