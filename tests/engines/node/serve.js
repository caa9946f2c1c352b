'use strict'
// Serves dynalite on a free loopback port, names the port, and ends when whoever started it closes stdin or dies.

const dynalite = require('dynalite')

const server = dynalite({ createTableMs: 0, deleteTableMs: 0, updateTableMs: 0 })
server.listen(0, '127.0.0.1', () => console.log(`listening ${server.address().port}`))
process.stdin.on('end', () => process.exit(0)).resume()
