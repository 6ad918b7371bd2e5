"""Small changes of the trusted modules, drawn at random: which of them does no test see?"""
