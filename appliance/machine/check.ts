import { machinePorts } from './ports.ts'
import { checkMachine, LOOKS } from './verbs/check.ts'

const USAGE = `gatehouse-check [--json]
  Looks whether this machine is as it should be, and says what is not, with the way out. As root.
  Ends with 0 where all is well, with 1 where something is not, or could not be looked at.
`

async function main(words: readonly string[]): Promise<number> {
  if (words.some(word => word !== '--json')) {
    process.stderr.write(USAGE)
    return 64
  }
  if (process.getuid?.() !== 0) {
    process.stderr.write('gatehouse-check: this needs root.\n')
    return 77
  }
  const ports = { ...machinePorts(), log: () => undefined }
  const findings = await checkMachine(ports)
  if (words.includes('--json'))
    process.stdout.write(`${JSON.stringify({ looked_at: new Date().toISOString(), findings })}\n`)
  else {
    for (const { what, mark, said, way_out } of findings)
      process.stdout.write(`${mark.toUpperCase().padEnd(8)} ${what}: ${said}\n         ${way_out}\n`)
    const fine = LOOKS.length - new Set(findings.map(({ what }) => what)).size
    process.stdout.write(
      `${findings.length === 0 ? 'All is as it should be' : `${findings.length} found`}: ${fine} of ${LOOKS.length} things are well.\n`,
    )
  }
  return findings.length === 0 ? 0 : 1
}

process.exitCode = await main(process.argv.slice(2))
