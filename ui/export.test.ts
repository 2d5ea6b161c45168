import { describe, expect, test } from 'vitest'
import { printCsv, readAll } from './export.ts'

describe('a table of rows', () => {
  test('has a column for each field of any row, and objects in a row are columns of their own', () => {
    const rows = [
      { name: 'a', sla: { due: '2026-01-01', breached: false }, tags: ['x', 'y'] },
      { name: 'b', cves: [{ id: 'CVE-1' }] },
    ]
    expect(printCsv(rows).split('\r\n')).toEqual([
      '\uFEFFname,sla.due,sla.breached,tags,cves',
      'a,2026-01-01,false,x; y,',
      'b,,,,"[{""id"":""CVE-1""}]"',
      '',
    ])
  })

  test('has its titles also without a row, and no column for an object that is null', () => {
    expect(printCsv([], ['name', 'sla.due'])).toBe('\uFEFFname,sla.due\r\n')
    expect(printCsv([{ name: 'a', sla: null }], ['name', 'sla.due'])).toBe('\uFEFFname,sla.due\r\na,\r\n')
  })

  test('keeps text that a spreadsheet would run as text', () => {
    expect(printCsv([{ name: '=cmd()' }])).toBe("\uFEFFname\r\n'=cmd()\r\n")
  })
})

describe('a list', () => {
  const page = (n: number) => Promise.resolve({ items: [n], total: 3, pages: 3 })

  test('is read to its last page', async () => {
    expect(await readAll(page)).toEqual([1, 2, 3])
  })

  test('of which a page fails is not taken for whole', async () => {
    const broken = (n: number) => (n === 3 ? Promise.reject(new Error('gone')) : page(n))
    await expect(readAll(broken)).rejects.toThrow('gone')
  })
})
